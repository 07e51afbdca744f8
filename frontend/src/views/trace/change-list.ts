/** The changes of a trace, newest first, with what was decided about each. */

import { html, nothing } from "lit";
import type { Changes, Member, Status } from "../../api/client";
import "../../components/decision-log";
import { change, compared, date, hash, hazard, standing, ticketLink } from "../../templates/finding";
import { decide, oneFinding } from "../../state/triage/decisions";
import { number } from "../../text/units";
import { count, decidedStatus } from "../../text/findings";
import type { Desk } from "./context";

export function renderChanges(desk: Desk, changes: Changes) {
  const gone = desk.address.gone ? changes.gone : [];
  return html`<section aria-labelledby="changes-title" class="panel">
    <h2 id="changes-title">${count(changes.changes.length, "change")}</h2>
    ${
      changes.changes.length === 0
        ? html`<p class="faint">No change was found in this trace. “Why” below tells what was looked at.</p>`
        : nothing
    }
    ${
      changes.changes.length + gone.length > 0
        ? html`<table class="changes">
            <caption class="sr-only">
              Changes of this trace, newest first
            </caption>
            <thead>
              <tr>
                <th scope="col">Change</th>
                <th scope="col">State</th>
              </tr>
            </thead>
            <tbody>
              ${newest(changes.changes).map((member) => renderChange(desk, member))}
            </tbody>
            ${
              gone.length > 0
                ? html`<tbody class="gone">
                    <tr>
                      <th colspan="2" scope="rowgroup">
                        Gone: later data no longer show ${gone.length === 1 ? "it" : "them"}
                      </th>
                    </tr>
                    ${newest(gone).map((member) => renderChange(desk, member))}
                  </tbody>`
                : nothing
            }
          </table>`
        : nothing
    }
  </section>`;
}

function newest(members: readonly Member[]): Member[] {
  return [...members].sort((a, b) => (b.place.position ?? 0) - (a.place.position ?? 0));
}

function renderChange(desk: Desk, member: Member) {
  const { position, suspects } = member.place;
  const current = position !== null && position === desk.address.commit;
  return html`<tr data-finding=${member.id} aria-current=${current ? "true" : "false"}>
    <td>
      <div class="change-line">${change(member)} ${compared(member)}</div>
      <button
        class="link subject"
        title=${member.commit.subject}
        @click=${() => desk.go({ commit: position ?? undefined })}
      >
        ${member.commit.subject}
      </button>
      <div class="second">
        ${hash(member.commit)}<span>${member.commit.author}</span>${date(member.commit.time)}
        ${suspects > 1 ? html`<span class="range">one of ${suspects} commits</span>` : nothing}
        ${hazard(member.hazard)}${member.p_value === null ? nothing : html`<span class="figure">p ${number(member.p_value, 2)}</span>`}
      </div>
    </td>
    <td>
      ${standing(member)}
      ${member.condition === "recovered" ? html` <span class="tag" title="Later values are back at the level before.">recovered</span>` : nothing}
      ${member.ticket || member.matched_ticket ? html`<div class="second">${ticketLink(member.ticket || member.matched_ticket)}</div>` : nothing}
      ${member.note ? html`<div class="second note" title=${member.note}>${member.note}</div>` : nothing}
      ${renderActions(desk, member)}
      <kp-log .finding=${member.id}></kp-log>
    </td>
  </tr>`;
}

function renderActions(desk: Desk, member: Member) {
  const button = (label: string, key: string, status: Status) =>
    html`<button
      class="button small"
      title="${label} (${key})"
      @click=${() => void decide({ findings: oneFinding(member.id), status })}
    >
      ${label}
    </button>`;
  if (member.condition === "gone") return nothing;
  return html`<div class="actions always">
    ${decidedStatus(member) === "new" ? html`${button("Acknowledge", "a", "acknowledged")}${button("Hide", "h", "hidden")}` : button("Put back", "r", "new")}
    <button
      class="button small quiet"
      title="What the method looked at here (w)"
      @click=${() => {
        desk.go({ commit: member.place.position ?? undefined });
        desk.openWhy(true);
      }}
    >
      Why
    </button>
  </div>`;
}
