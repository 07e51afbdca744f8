/** The commits of a line, requested in blocks when the page first needs one of them. */

import { api, type Commit } from "../../api/client";

const BLOCK = 200;

export class CommitCache {
  private readonly blocks = new Map<number, Promise<Commit[]>>();
  private readonly commits = new Map<number, Commit>();

  constructor(
    readonly repository: string,
    readonly line: string,
  ) {}

  /** The commit at a position if it is loaded. */
  peek(position: number): Commit | undefined {
    return this.commits.get(position);
  }

  /** The commit at a position; undefined where the line has none. */
  async at(position: number): Promise<Commit | undefined> {
    if (position < 0) return undefined;
    await this.loadBlock(Math.floor(position / BLOCK));
    return this.commits.get(position);
  }

  /** The commits in (after, until], the newest first, at most `limit`. */
  async between(after: number, until: number, limit: number): Promise<Commit[]> {
    const commits: Commit[] = [];
    for (let position = until; position > after && commits.length < limit; position--) {
      const commit = await this.at(position);
      if (commit) commits.push(commit);
    }
    return commits;
  }

  private loadBlock(index: number): Promise<Commit[]> {
    const known = this.blocks.get(index);
    if (known) return known;
    const loading = api.commits(this.repository, this.line, index * BLOCK, BLOCK).then((answer) => {
      answer.commits.forEach((commit, offset) => this.commits.set(answer.first + offset, commit));
      return answer.commits;
    });
    loading.catch(() => this.blocks.delete(index)); // the next need requests it again
    this.blocks.set(index, loading);
    return loading;
  }
}
