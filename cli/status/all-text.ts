import { painterOf } from '../runs/run/words.ts';
import type { Look } from '../support/all-deployments.ts';
import { plainLine } from '../support/text.ts';
import type { Status } from './schema.ts';
import { toneOf } from './status-text.ts';

const FIRST = ['bad', 'warned', 'open', 'good'] as const;
const SIGN = { bad: '✕', warned: '?', open: '…', good: '✓' };

/** A line for each deployment, the worst first; below it what is missing, each with its command. */
export function allText(looks: Look<Status>[], stream: { isTTY?: boolean }): string {
  const paint = painterOf(stream);
  const rows = looks.map((look) => ({ look, tone: look.found ? toneOf(look.found) : 'warned' }) as const);
  const sorted = rows.toSorted((one, other) => FIRST.indexOf(one.tone) - FIRST.indexOf(other.tone));
  return sorted
    .flatMap(({ look: { deployment, found, why }, tone }) => {
      const head = paint(tone)(
        `${SIGN[tone]} ${deployment}: ${found ? found.headline : `not known: ${plainLine(why)}`}`,
      );
      const alarms = found?.alarms?.length ? [`    Alarms: ${found.alarms.join(', ')}`] : [];
      const advice = new Set((found?.entities ?? []).flatMap((row) => row.advice ?? []));
      return [head, ...alarms, ...[...advice].map((command) => `    -> ${plainLine(command)}`)];
    })
    .join('\n');
}
