import { failedChecks, type GuardCheck, type GuardReport } from './guards.ts';

/** In the cause of a run whose file no person can release; the report looks for it there, without the manifest. */
export const NOT_RELEASABLE = 'It cannot be released';

/** What stopped a file, measured and bound: half a sentence behind "it". */
export function stoppedText(report: GuardReport, rows: number | null): string {
  const texts = failedChecks(report).map((check) => textOf(check, rows, report.medianRows));
  return texts.join('; it ');
}

function textOf({ guard, measured, bound }: GuardCheck, rows: number | null, medianRows: number | null): string {
  const counted = rows === null ? 'rows that cannot be counted' : `${numberText(rows)} ${rows === 1 ? 'row' : 'rows'}`;
  const usual = `${numberText(medianRows ?? 0)} are usual`;
  const columns = measured === 1 ? '1 column' : `${numberText(measured ?? 0)} columns`;
  const share = numberText(100 * (measured ?? 0));
  const texts: Record<string, string> = {
    empty: 'is empty',
    noRows: `has no rows, ${usual}`,
    minRows: `has ${counted} (minRows ${bound})`,
    maxShrink: `has ${counted}, ${usual} (maxShrink ${bound})`,
    maxGrowth: `has ${counted}, ${usual} (maxGrowth ${bound})`,
    header: `has ${columns} more or fewer than were requested (drift)`,
    excepted: `${measured === null ? 'may have columns' : `has ${columns}`} that must not be there (columns.except)`,
    maxIrregularShare: `has ${share} % of records with another number of fields than the first (maxIrregularShare ${bound})`,
  };
  return texts[guard] ?? `was stopped by ${guard} (measured ${measured}, bound ${bound})`;
}

function numberText(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 3 });
}
