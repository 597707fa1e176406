/** What one probe may ask for at most, whatever it is told to do. */
export const MOST = { create: 3, link: 4, file: 4, update: 1, absent: 1 };

/** Counts the calls that cost the CRM something; every one of them passes here first. */
export class Bounds {
  readonly #made: Partial<Record<keyof typeof MOST, number>> = {};

  /** @throws Error where there would be one more than a probe may make */
  take(step: string): void {
    if (!isBounded(step)) return;
    const made = (this.#made[step] ?? 0) + 1;
    if (made > MOST[step]) throw new Error(`A probe makes at most ${MOST[step]} calls of the kind ${step}.`);
    this.#made[step] = made;
  }
}

function isBounded(step: string): step is keyof typeof MOST {
  return step in MOST;
}
