/** The commits of a line, fetched in blocks as they are looked at. */

import { api, type Commit } from "../../api/client";

const BLOCK = 200;

export class CommitCache {
  private readonly blocks = new Map<number, Promise<Commit[]>>();
  private readonly known = new Map<number, Commit>();

  constructor(
    readonly repository: string,
    readonly line: string,
  ) {}

  /** The commit at a position if it is known already. */
  peek(position: number): Commit | undefined {
    return this.known.get(position);
  }

  /** The commit at a position; undefined where the line has none. */
  async at(position: number): Promise<Commit | undefined> {
    if (position < 0) return undefined;
    await this.block(Math.floor(position / BLOCK));
    return this.known.get(position);
  }

  /** The commits in (after, until], at most `limit` of the newest. */
  async between(after: number, until: number, limit: number): Promise<Commit[]> {
    const found: Commit[] = [];
    for (let position = until; position > after && found.length < limit; position--) {
      const commit = await this.at(position);
      if (commit) found.push(commit);
    }
    return found;
  }

  private block(index: number): Promise<Commit[]> {
    const waiting = this.blocks.get(index);
    if (waiting) return waiting;
    const asked = api.commits(this.repository, this.line, index * BLOCK, BLOCK).then((answer) => {
      answer.commits.forEach((commit, offset) => this.known.set(answer.first + offset, commit));
      return answer.commits;
    });
    asked.catch(() => this.blocks.delete(index));
    this.blocks.set(index, asked);
    return asked;
  }
}
