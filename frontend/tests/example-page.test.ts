// @vitest-environment happy-dom
/** The page that docs/contributing/page.md adds to the dashboard. */

import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { alertsFormat } from "./example-page/route";
import { AlertsView } from "./example-page/view";

const read = (path: string): Promise<string> => readFile(path, "utf8"); // Vitest runs in frontend/
const ALERTS = [
  { name: "nightly", last_run: "2026-03-01T12:00:00Z" },
  { name: "memory", last_run: null },
];

let server: Server;

beforeEach(async () => {
  server = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(request.url === "/api/v1/alerts" ? JSON.stringify(ALERTS) : "null");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  (window as unknown as { happyDOM: { setURL: (url: string) => void } }).happyDOM.setURL(`http://127.0.0.1:${port}/`);
});

afterEach(() => new Promise((closed) => server.close(closed)));

test("the guide prints the page as it is here", async () => {
  const guide = await read("../docs/contributing/page.md");
  for (const name of ["route", "view"]) {
    const text = await read(`tests/example-page/${name}.ts`);
    // In src/ the modules lie beside those that they import.
    const inSource = text
      .replaceAll("../../src/routes/", "./")
      .replaceAll("../../src/", "../../")
      .replaceAll('"./route"', '"../../routes/alerts"');
    expect(guide).toContain(inSource.trim());
  }
});

test("its URL and its route are each other's inverse", () => {
  const route = { view: "alerts", name: "night" } as const;
  expect(alertsFormat.format(route)).toBe("/alerts?name=night");
  expect(alertsFormat.parse(new URL("http://here/alerts?name=night"))).toEqual(route);
  expect(alertsFormat.parse(new URL("http://here/triage"))).toBeUndefined();
});

test("it shows what the server answers", async () => {
  const page = new AlertsView();
  page.route = { view: "alerts", name: "night" };
  document.body.replaceChildren(page);
  await vi.waitFor(() => expect(page.querySelector("li")).not.toBeNull());
  expect([...page.querySelectorAll("li")].map((item) => item.textContent)).toEqual(["nightly 2026-03-01"]);
});
