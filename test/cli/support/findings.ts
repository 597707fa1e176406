import type { Finding } from '../../../cli/health/check.ts';
import { expectTexts } from '../../support/screen.ts';

/** Compares findings with `test/screens/NAME.txt`, each below its title: verdict, sentence and advice. */
export function expectFindings(name: string, rows: readonly (readonly [title: string, ...Finding[]])[]): Promise<void> {
  return expectTexts(
    name,
    rows.map(([title, ...findings]) => [title, findings.map(textOf).join('\n')]),
  );
}

function textOf({ of, verdict, found, advice, exitCode }: Finding): string {
  const code = exitCode === 0 ? '' : ` (exit code ${exitCode})`;
  return `${of ? `${of} ` : ''}${verdict}${code}: ${found}${advice ? `\n  -> ${advice}` : ''}`;
}
