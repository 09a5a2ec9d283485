const LOOK_EVERY_MS = 500;

interface Waiting<Item> {
  item: Item;
  sinceMs: number;
}

/** Items that another run has claimed, to be looked at again every half second. */
export class SetAside<Item> {
  #waiting: Waiting<Item>[] = [];
  #timer: NodeJS.Timeout | null = null;
  #isDue = false;
  readonly #look: () => void;

  /** `look`: called when it is time to call `takeDue`. */
  constructor(look: () => void) {
    this.#look = look;
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(waiting: Waiting<Item>): void {
    this.#waiting.push(waiting);
    this.#timer ??= setInterval(() => {
      this.#isDue = true;
      this.#look();
    }, LOOK_EVERY_MS);
  }

  /** All of them, or none if it is not time yet. What is still claimed is added again. */
  takeDue(): Waiting<Item>[] {
    if (!this.#isDue) return [];
    return this.takeAll();
  }

  takeAll(): Waiting<Item>[] {
    const all = this.#waiting;
    this.#waiting = [];
    this.#isDue = false;
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    return all;
  }
}
