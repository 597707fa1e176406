import type { Invocation } from '../../core/step/invocation.ts';

/** Often enough for a person who watches, rare enough for the bill of the log. */
const EVERY_MS = 5_000;

/** Says in the log how far a transfer has come; who follows a run reads it there. */
export function progressLog({ log, now }: Pick<Invocation, 'log' | 'now'>) {
  let said = now().getTime();
  return (bytes: number, total: number | null): void => {
    const at = now().getTime();
    if (at - said < EVERY_MS) return;
    said = at;
    log.info('moved', { bytes, totalBytes: total });
  };
}
