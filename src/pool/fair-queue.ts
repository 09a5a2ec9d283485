interface Line<T> {
  waiting: T[];
  /** Virtual time at which what it has been given is paid off. */
  finish: number;
}

/**
 * Start-time fair queueing: whoever has been given least comes first, first come first served within a workflow. A
 * workflow that was away has no claim on the time it missed.
 */
export class FairQueue<T> {
  readonly #lines = new Map<string, Line<T>>();
  #virtual = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(workflow: string, item: T, where: 'head' | 'tail'): void {
    const line = this.#lines.get(workflow) ?? { waiting: [], finish: this.#virtual };
    this.#lines.set(workflow, line);
    if (line.waiting.length === 0) line.finish = Math.max(line.finish, this.#virtual);
    if (where === 'head') line.waiting.unshift(item);
    else line.waiting.push(item);
    this.#size += 1;
  }

  /** The workflows' first items, whoever's turn it is first; `behind`: by how much the others have had more. */
  heads(): { workflow: string; item: T; finish: number; behind: number }[] {
    const heads: { workflow: string; item: T; finish: number; behind: number }[] = [];
    for (const [workflow, { waiting, finish }] of this.#lines) {
      const item = waiting[0];
      if (item !== undefined) heads.push({ workflow, item, finish, behind: 0 });
      else if (finish <= this.#virtual) this.#lines.delete(workflow);
    }
    heads.sort((a, b) => a.finish - b.finish);
    const least = heads[0]?.finish ?? 0;
    for (const head of heads) head.behind = head.finish - least;
    return heads;
  }

  /** The workflow got a turn, at this cost. */
  charge(workflow: string, cost: number): void {
    const line = this.#lines.get(workflow) ?? { waiting: [], finish: this.#virtual };
    this.#lines.set(workflow, line);
    const start = Math.max(line.finish, this.#virtual);
    // Not past those who still wait: that one was let through early is no reason for them to lose their claim.
    const waiting = this.heads()[0]?.finish ?? start;
    this.#virtual = Math.max(this.#virtual, Math.min(start, waiting));
    line.finish = start + cost;
  }

  /** The turn came to nothing: it is not counted. */
  refund(workflow: string, cost: number): void {
    const line = this.#lines.get(workflow);
    if (line !== undefined) line.finish -= cost;
  }

  remove(workflow: string, item: T): boolean {
    const waiting = this.#lines.get(workflow)?.waiting;
    const index = waiting?.indexOf(item) ?? -1;
    if (waiting === undefined || index < 0) return false;
    waiting.splice(index, 1);
    this.#size -= 1;
    return true;
  }

  items(): T[] {
    return [...this.#lines.values()].flatMap((line) => line.waiting);
  }
}
