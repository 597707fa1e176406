import { bytesText, manyText, movedText, plainLine } from '../support/text.ts';
import type { Progress } from './executions.ts';
import { reasonText, timesText } from './run/waiting.ts';

/** A moving file gets a line this often. */
const MOVED_EVERY_SECONDS = 10;
/** The states in which a file moves. */
const MOVING = ['DownloadFile', 'WaitBeforeDownload'];

/**
 * Prints one line for each change of state of a run and, while its file moves, one line every ten seconds. The lines are
 * the same in a terminal, a pipe and CI.
 */
export function progressLines(print: (line: string) => void): (progress: Progress) => void {
  let shown = { state: '', bytes: 0, seconds: 0 };
  return (progress) => {
    const { entity, state: name, bytes, seconds } = progress;
    if (name === '') return;
    const state = stateText(progress);
    // A run keeps the bytes of its file after the last one is stored.
    const isMoving = bytes !== null && MOVING.includes(name);
    const moved = isMoving && seconds - shown.seconds >= MOVED_EVERY_SECONDS;
    const text = state !== shown.state ? state : moved ? fileText(progress, shown) : '';
    if (text === '') return;
    print(`  ${entity}: ${text} (${seconds.toFixed(1)} s)`);
    shown = { state, bytes: bytes ?? 0, seconds };
  };
}

/** `CheckStatus, 1 check`; of a run that has ended, how it ended and the bytes of its file. */
function stateText({ state, status, checks, bytes, waiting }: Progress): string {
  const running = status === 'RUNNING';
  const facts = [
    running ? state : `${state} (${status})`,
    manyText(checks, 'check'),
    running ? '' : bytesText(bytes),
    ...(waiting ? [reasonText(waiting), timesText(waiting)] : []),
  ];
  return facts.filter(Boolean).map(plainLine).join(', ');
}

/** `41.9 MB of 96.0 MB, 4.1 MB/s, 43 %` */
function fileText({ bytes, totalBytes, seconds }: Progress, before: { bytes: number; seconds: number }): string {
  const rate = Math.max(0, (bytes ?? 0) - before.bytes) / (seconds - before.seconds);
  const share = totalBytes ? `${Math.floor(((bytes ?? 0) / totalBytes) * 100)} %` : '';
  return [movedText({ bytes, totalBytes }), `${bytesText(Math.round(rate))}/s`, share].filter(Boolean).join(', ');
}
