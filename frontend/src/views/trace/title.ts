/** The title of the trace page: the trace's name and params, its line, and a link to the explore page. */

import { html, nothing } from "lit";
import type { ChangePoints } from "../../api/client";
import type { BenchmarkRoute } from "../../routes/benchmark";
import { exploreRoute } from "../../routes/explore";
import { routeUrl } from "../../routes/routes";
import { selectField } from "../../templates/select-field";
import { longName, param } from "../../templates/trace-name";
import { betterText, newestText } from "../../text/findings";
import { countText, grouped } from "../../text/numbers";
import { nameParamOf, traceName } from "../../text/trace-names";
import { unitText, valueText } from "../../text/units";
import type { TraceContext } from "./context";

export function renderTitle(context: TraceContext, changes: ChangePoints) {
  const { trace } = changes;
  const { name, rest } = traceName(trace.params);
  const compare = routeUrl({ ...exploreRoute, repository: trace.repository, traces: [trace.id] });
  const newest = context.series && !context.range ? context.series.values.at(-1) : undefined;
  return html`<div class="trace-title">
    <div>
      <h1>${longName(name)}</h1>
      <p class="second">
        ${context.repositories.length > 1 ? html`<span>${trace.repository}</span>` : nothing}
        ${rest.map(([key, value]) => param(key, value))}
        <span
          >${unitText(trace.unit) || "no unit"}${
            trace.better === "unknown" ? nothing : html`, ${betterText(trace.better)}`
          }</span
        >
        <span>${grouped(changes.measured)} of ${countText(changes.commits, "commit")} measured</span>
        ${newest === undefined ? nothing : html`<span>newest ${context.plotted?.summary ?? "value"} ${valueText(newest, trace.unit)}</span>`}
        ${renderSign(changes)}
      </p>
    </div>
    ${renderLineField(context, changes)}
    <a class="button small" href=${compare}>Compare with others</a>
    <a class="button small" href=${routeUrl(benchmarkOf(trace))}>All of this benchmark</a>
  </div>`;
}

/** The page of all traces of the same benchmark. */
function benchmarkOf({ params, repository }: ChangePoints["trace"]): BenchmarkRoute {
  const param = nameParamOf(params) ?? "";
  return { view: "benchmark", repository, param, name: params[param] ?? "" };
}

/** The verdict on the newest value, where it does not belong to the level before it. */
function renderSign({ newest, trace }: ChangePoints) {
  if (!newest) return nothing;
  const [low, high] = [newest.low, newest.high].map((bound) => valueText(bound, trace.unit));
  const title =
    `The newest value is ${valueText(newest.value, trace.unit)}; the noise of the level before it reaches from ${low} ` +
    `to ${high}. It is one value: a change needs values after it.`;
  return html`<span class="tag" title=${title}>${newestText(newest, trace)}</span>`;
}

function renderLineField(context: TraceContext, { trace, line }: ChangePoints) {
  const repository = context.repositories.find(({ name }) => name === trace.repository);
  if (!repository || repository.lines.length < 2) return nothing;
  const options = repository.lines.map((name) => [name, name] as const);
  // Positions are those of a line: another one has other commits there.
  return selectField("Line", line, options, (name) =>
    context.updateRoute({ line: name, commit: undefined, first: undefined, last: undefined }, "push"),
  );
}
