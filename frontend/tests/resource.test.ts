// @vitest-environment happy-dom
import type { ReactiveController, ReactiveControllerHost } from "lit";
import { expect, test } from "vitest";
import { ApiError } from "../src/api/client";
import { Resource, type ResourceOptions } from "../src/state/resource";

/** The life of an element, as far as controllers see it. */
class Host implements ReactiveControllerHost {
  private readonly controllers: ReactiveController[] = [];
  readonly updateComplete = Promise.resolve(true);

  addController(controller: ReactiveController): void {
    this.controllers.push(controller);
  }

  removeController(): void {
    throw new Error("no controller is removed");
  }

  requestUpdate(): void {
    // The tests call `update` themselves.
  }

  connect(): void {
    for (const controller of this.controllers) controller.hostConnected?.();
  }

  disconnect(): void {
    for (const controller of this.controllers) controller.hostDisconnected?.();
  }

  /** Update the element, and wait until all answers that have come are handled. */
  async update(): Promise<void> {
    for (const controller of this.controllers) controller.hostUpdate?.();
    await settled();
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

/** A resource whose answers come when a test sends them. */
function setUp(options: Partial<ResourceOptions<readonly [string], string>> = {}) {
  const host = new Host();
  const requests: { key: string; signal: AbortSignal; answer: (text: string) => void; fail: (error: Error) => void }[] =
    [];
  const state: { key: string | undefined } = { key: "a" };
  const resource = new Resource<readonly [string], string>(host, {
    args: () => (state.key === undefined ? undefined : [state.key]),
    load: ([key], signal) => new Promise((answer, fail) => requests.push({ key, signal, answer, fail })),
    ...options,
  });
  const request = (index: number): NonNullable<(typeof requests)[number]> => {
    const found = requests[index];
    if (!found) throw new Error(`no request ${index}`);
    return found;
  };
  host.connect();
  return { host, resource, requests, request, state };
}

test("an answer is there after its request, and stays while it is requested again", async () => {
  const { host, resource, request } = setUp();
  await host.update();
  expect([resource.value, resource.loading]).toEqual([undefined, true]);
  request(0).answer("first");
  await settled();
  expect([resource.value, resource.loading]).toEqual(["first", false]);
  resource.reload();
  expect([resource.value, resource.loading]).toEqual(["first", true]);
});

test("other arguments drop the answer and abort its request", async () => {
  const { host, resource, request, state } = setUp();
  await host.update();
  request(0).answer("a");
  await settled();
  resource.reload();
  state.key = "b";
  await host.update();
  expect(resource.value).toBeUndefined();
  expect(request(1).signal.aborted).toBe(true);
});

test("a late answer does not replace a newer one", async () => {
  const { host, resource, request, state } = setUp({ keepWhileLoading: () => true });
  await host.update();
  state.key = "b";
  await host.update();
  request(1).answer("second");
  await settled();
  request(0).answer("first");
  await settled();
  expect([resource.value, resource.answeredArgs]).toEqual(["second", ["b"]]);
});

test("an answer may stay while another one loads, and go if that fails", async () => {
  const { host, resource, request, state } = setUp({ keepWhileLoading: () => true });
  await host.update();
  request(0).answer("a");
  await settled();
  state.key = "b";
  await host.update();
  expect([resource.value, resource.answeredArgs]).toEqual(["a", ["a"]]);
  request(1).fail(new ApiError("no such thing"));
  await settled();
  expect([resource.value, resource.error?.message]).toEqual([undefined, "no such thing"]);
});

test("an answer stays below the error of the same request", async () => {
  const { host, resource, request } = setUp();
  await host.update();
  request(0).answer("a");
  await settled();
  resource.reload();
  request(1).fail(new ApiError("no answer"));
  await settled();
  expect([resource.value, resource.error?.message]).toEqual(["a", "no answer"]);
});

test("undefined arguments send no request and keep the answer", async () => {
  const { host, resource, requests, request, state } = setUp();
  await host.update();
  request(0).answer("a");
  await settled();
  state.key = undefined;
  await host.update();
  expect([resource.value, resource.loading, requests.length]).toEqual(["a", false, 1]);
});

test("a failed request is sent again once the server is back", async () => {
  const { host, resource, requests, request } = setUp();
  await host.update();
  window.dispatchEvent(new Event("kp-reconnect"));
  expect(requests.length).toBe(1);
  request(0).fail(new ApiError("no answer"));
  await settled();
  window.dispatchEvent(new Event("kp-reconnect"));
  expect([requests.length, resource.error]).toEqual([2, undefined]);
});

test("an element that leaves the page aborts its request, which is not an error", async () => {
  const { host, resource, request } = setUp();
  await host.update();
  host.disconnect();
  expect(request(0).signal.aborted).toBe(true);
  request(0).fail(new DOMException("aborted", "AbortError"));
  await settled();
  expect(resource.error).toBeUndefined();
});
