/** Data of the server that an element shows: requested by @lit/task, with the last answer kept while the next one loads. */

import { initialState, Task, TaskStatus } from "@lit/task";
import type { ReactiveController, ReactiveControllerHost } from "lit";
import { isAborted, toApiError, type ApiError } from "../api/client";
import { onReconnect } from "../api/connection";

export interface ResourceOptions<Args extends readonly unknown[], T> {
  /** What the answer depends on; a change sends a new request. Undefined sends none and keeps the answer. */
  args: () => Args | undefined;
  load: (args: Args, signal: AbortSignal) => Promise<T>;
  argsEqual?: (before: Args, now: Args) => boolean;
  /** Whether the answer for `before` stays in view while that for `now` loads; by default if they are equal. */
  keepWhileLoading?: (before: Args, now: Args) => boolean;
  /** Whether the answer for `before` stays in view after the request for `now` failed; by default if they are equal. */
  keepAfterError?: (before: Args, now: Args, error: ApiError) => boolean;
  /** Runs after each answer, with the one that it replaces. */
  onAnswer?: (value: T, before: T | undefined) => void;
}

const IDLE = [Symbol("idle")];

/**
 * Request data for an element, and again whenever the arguments change.
 *
 * A new request aborts the one before, so that a late answer never replaces a newer one. A request that failed because
 * the server did not answer is sent again once the server is back.
 */
export class Resource<Args extends readonly unknown[], T> implements ReactiveController {
  private readonly task: Task<readonly unknown[], T>;
  private answer: { args: Args; value: T } | undefined;
  /** The arguments of the newest request. */
  private requested: Args | undefined;
  private unsubscribe: (() => void) | undefined;

  constructor(
    private readonly host: ReactiveControllerHost,
    private readonly options: ResourceOptions<Args, T>,
  ) {
    host.addController(this);
    this.task = new Task<readonly unknown[], T>(host, {
      args: () => options.args() ?? IDLE,
      argsEqual: (before, now) =>
        before === now || (before !== IDLE && now !== IDLE && this.equal(before as Args, now as Args)),
      task: (args, { signal }) => (args === IDLE ? initialState : this.request(args as Args, signal)),
      onComplete: (value) => this.onComplete(value),
      onError: (error) => this.onError(error),
    });
  }

  hostConnected(): void {
    this.unsubscribe = onReconnect(() => this.retry());
  }

  hostDisconnected(): void {
    this.unsubscribe?.();
    this.task.abort();
  }

  /** The newest answer that may be shown. */
  get value(): T | undefined {
    return this.answer?.value;
  }

  /** Whether a request was answered; the answer may be undefined. */
  get answered(): boolean {
    return this.answer !== undefined;
  }

  /** Whether there is an answer, or an error. */
  get finished(): boolean {
    return this.answered || this.error !== undefined;
  }

  /** The arguments that `value` answers: while others are loading, not the newest ones. */
  get answeredArgs(): Args | undefined {
    return this.answer?.args;
  }

  /** Why the newest request failed; undefined while the next one loads. */
  get error(): ApiError | undefined {
    const { status, error } = this.task;
    return status === TaskStatus.ERROR && !isAborted(error) ? toApiError(error) : undefined;
  }

  get loading(): boolean {
    return this.task.status === TaskStatus.PENDING;
  }

  /** Done when the newest request is answered or failed. */
  get settled(): Promise<unknown> {
    return this.task.taskComplete.catch(() => undefined);
  }

  /** Request the answer again, for the same arguments. */
  reload(): void {
    void this.task.run();
  }

  /** Request the answer again if the last request failed. */
  retry(): void {
    if (this.error) this.reload();
  }

  /** Replace the answer, for example by what a decision made of it. */
  update(value: T): void {
    if (!this.answer) return;
    this.answer = { ...this.answer, value };
    this.host.requestUpdate();
  }

  /** Leave the host: abort the request that is on its way, and send no more. */
  dispose(): void {
    this.hostDisconnected();
    this.host.removeController(this.task);
    this.host.removeController(this);
  }

  /** Drop the answer and abort the request that is on its way. */
  clear(): void {
    this.answer = undefined;
    this.task.abort();
  }

  private equal(before: Args, now: Args): boolean {
    const { argsEqual } = this.options;
    if (argsEqual) return argsEqual(before, now);
    return before.length === now.length && before.every((value, index) => Object.is(value, now[index]));
  }

  private request(args: Args, signal: AbortSignal): Promise<T> {
    const { keepWhileLoading, load } = this.options;
    const { answer } = this;
    this.requested = args;
    if (answer && !this.equal(answer.args, args) && !keepWhileLoading?.(answer.args, args)) this.answer = undefined;
    return load(args, signal);
  }

  /** Task calls this for its newest request only, and so does it `onError`. */
  private onComplete(value: T): void {
    const before = this.answer?.value;
    if (this.requested) this.answer = { args: this.requested, value };
    this.options.onAnswer?.(value, before);
  }

  private onError(thrown: unknown): void {
    const { answer, requested } = this;
    if (!answer || !requested || isAborted(thrown)) return;
    const { keepAfterError } = this.options;
    const keep = keepAfterError
      ? keepAfterError(answer.args, requested, toApiError(thrown))
      : this.equal(answer.args, requested);
    if (!keep) this.answer = undefined;
  }
}

/** The first error among several resources. */
export function firstError(resources: readonly { readonly error: ApiError | undefined }[]): ApiError | undefined {
  return resources.find((resource) => resource.error)?.error;
}
