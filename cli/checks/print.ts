import * as z from 'zod/mini';
import { colorsFor, plainLine } from '../support/text.ts';
import type { Checked } from './check.ts';
import { adviceLines, begun } from './completed.ts';
import { VERDICTS, type Verdict } from './finding.ts';

const checkedSchema = z.strictObject({
  id: z.string().check(z.describe('Of the check; columns.leads: of what it found about leads.')),
  question: z.string(),
  verdict: z
    .enum(VERDICTS)
    .check(z.describe('broken: it does not hold. warning: nothing fails by it. unknown: it cannot be told here.')),
  found: z.string().check(z.describe('What was found; where the verdict is unknown, why it cannot be told.')),
  advice: z.nullable(z.string()).check(z.describe('What to do.')),
  rights: z.array(z.string()).check(z.describe('The actions of AWS that the check needs.')),
});

/** What `--json` prints of checks. */
export const checksSchema = z.strictObject({
  ok: z.boolean().check(z.describe('Whether the command ends with exit code 0.')),
  checks: z.array(checkedSchema),
});

export function documentOf(checks: Checked[], ok: boolean): z.infer<typeof checksSchema> {
  return { ok, checks: checks.map(({ exitCode: _, ...one }) => one) };
}

export function countOf(checks: Checked[], verdict: Verdict): number {
  return checks.filter((one) => one.verdict === verdict).length;
}

const SIGNS = { holds: '✓', warning: '!', broken: '✗', unknown: '?' };

/** One answered question for a person: a line, and the advice below it, each command on a line of its own. */
export function textOf({ id, question, verdict, found, advice }: Checked, stream: { isTTY?: boolean }): string {
  const { green, yellow, red } = colorsFor(stream);
  const paint = { holds: green, warning: yellow, broken: red, unknown: yellow }[verdict];
  const line = `${paint(`${SIGNS[verdict]} ${id}`)}: ${question} ${sentence(plainLine(found))}`;
  const lines = advice ? adviceLines(plainLine(advice)) : [];
  return [line, ...lines.map((part, index) => `${index === 0 ? '    -> ' : '       '}${part}`)].join('\n');
}

function sentence(found: string): string {
  const text = begun(found);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
