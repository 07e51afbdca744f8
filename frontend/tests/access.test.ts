import { expect, test } from "vitest";
import type { Caller, Permission } from "../src/api/client";
import {
  isAllowed,
  isAllowedEverywhere,
  isAllowedSomewhere,
  NO_SESSION,
  nextSession,
  reader,
  signInUrl,
} from "../src/state/access";
import { callerSource, callerTitle, grantTexts, permissionsText } from "../src/text/callers";

const ALL: Permission[] = ["read", "upload", "decide", "measure", "admin"];
const COMPANY = { name: "company", title: "Company", address: "/sign-in/company" };

function caller(part: Partial<Caller> = {}): Caller {
  return {
    kind: "person",
    name: "ada@example.org",
    title: "Ada Lovelace",
    mail: "ada@example.org",
    provider: "company",
    permissions: { everywhere: ["read"], repositories: {} },
    sign_in: [COMPANY],
    sign_out: "/sign-out",
    open: false,
    notice: "",
    ...part,
  };
}

const ANYONE = caller({ kind: "anyone", name: "anyone", title: "Anyone", provider: "" });
const EDITOR_OF_ONE = caller({ permissions: { everywhere: ["read"], repositories: { "a/b": ["read", "decide"] } } });

test("a permission for one repository is none for another", () => {
  expect(isAllowed(EDITOR_OF_ONE, "decide", "a/b")).toBe(true);
  expect(isAllowed(EDITOR_OF_ONE, "decide", "a/c")).toBe(false);
  expect(isAllowedSomewhere(EDITOR_OF_ONE, "decide")).toBe(true);
  expect(isAllowedEverywhere(EDITOR_OF_ONE, "decide")).toBe(false);
});

test("a repository with the name of a property of objects grants nothing", () => {
  expect(isAllowed(caller(), "decide", "constructor")).toBe(false);
});

test("in a frame of another website, a caller may only read", () => {
  const { permissions } = reader(
    caller({ permissions: { everywhere: ALL, repositories: { "a/b": ["decide"], c: [] } } }),
  );
  expect(permissions).toEqual({ everywhere: ["read"], repositories: { "a/b": ["read"], c: [] } });
});

test("the first answer is the caller of the page", () => {
  expect(nextSession(NO_SESSION, caller())).toEqual({ caller: caller(), ended: false });
});

test.each([undefined, ANYONE])("a person whose sign-in ended stays on their page, which says so", (answer) => {
  const ended = nextSession({ caller: caller(), ended: false }, answer);
  expect(ended).toEqual({ caller: caller(), ended: true });
  expect(nextSession(ended, answer)).toEqual(ended);
});

test("whoever signs in again is the caller of the page", () => {
  const other = caller({ name: "grace@example.org" });
  expect(nextSession({ caller: caller(), ended: true }, other)).toEqual({ caller: other, ended: false });
});

test("whoever was not known before has no sign-in that could end", () => {
  expect(nextSession({ caller: ANYONE, ended: false }, ANYONE)).toEqual({ caller: ANYONE, ended: false });
});

test("a sign-in comes back to the page with its state", () => {
  const here = { pathname: "/triage", search: "?q=a&tab=gone" };
  expect(signInUrl("/sign-in/company", here)).toBe("/sign-in/company?next=%2Ftriage%3Fq%3Da%26tab%3Dgone");
});

test("a person is called by their title, else by their name", () => {
  expect(callerTitle(caller())).toBe("Ada Lovelace");
  expect(callerTitle(caller({ title: "" }))).toBe("ada@example.org");
  expect(callerTitle(ANYONE)).toBe("Not signed in");
});

test("the way to sign in is named by its title, and by its name once it is configured no more", () => {
  expect(callerSource(caller())).toBe("signed in through Company");
  expect(callerSource(caller({ sign_in: [] }))).toBe("signed in through company");
});

test("permissions are listed in words, and those of an admin in one", () => {
  expect(permissionsText(["decide", "read"])).toBe("read and decide");
  expect(permissionsText(ALL)).toBe("everything");
  expect(permissionsText([])).toBe("nothing");
});

test("repositories are listed only if more is allowed in them than in all", () => {
  const repositories = { b: ["read"] as Permission[], a: ["read", "decide"] as Permission[] };
  expect(grantTexts(caller({ permissions: { everywhere: ["read"], repositories } }))).toEqual([
    ["All repositories", "read"],
    ["a", "read and decide"],
  ]);
  expect(grantTexts(caller({ permissions: { everywhere: [], repositories } }))).toEqual([
    ["a", "read and decide"],
    ["b", "read"],
  ]);
});
