import type { Invocation } from '../../core/step/step.ts';

const EVERY_MS = 5_000;

/** Logs the progress of a transfer, for `follow`. */
export function progressLog({ log, now }: Pick<Invocation, 'log' | 'now'>) {
  let logged = now().getTime();
  return (bytes: number, total: number | null): void => {
    const at = now().getTime();
    if (at - logged < EVERY_MS) return;
    logged = at;
    log.info('moved', { bytes, totalBytes: total });
  };
}
