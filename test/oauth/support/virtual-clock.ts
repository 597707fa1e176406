/** Time that advances only when all code waits: leases take no time, and the order of events is fixed. */
export class VirtualClock {
  time: number;
  #timers: { at: number; wake: () => void }[] = [];

  constructor(start: string | number) {
    this.time = new Date(start).getTime();
  }

  now = (): Date => new Date(this.time);

  sleep = (ms: number): Promise<void> =>
    new Promise((wake) => {
      const at = this.time + Math.max(0, ms);
      let index = this.#timers.length;
      while (index > 0 && (this.#timers[index - 1]?.at ?? 0) > at) index -= 1;
      this.#timers.splice(index, 0, { at, wake });
    });

  /** Advances time until the promise is settled. A promise that can never settle is an error. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const done = () => {
      settled = true;
    };
    promise.then(done, done);
    for (;;) {
      await new Promise(setImmediate);
      if (settled) return promise;
      const next = this.#timers.shift();
      if (!next) throw new Error('Nothing will ever happen again.');
      this.time = next.at;
      next.wake();
    }
  }
}
