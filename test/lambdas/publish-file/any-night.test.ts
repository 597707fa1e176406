import { expect, test } from 'vitest';
import { type Case, runCase } from '../../long/support/gate/cases.ts';
import { outcomeOf } from '../../support/odd-nights.ts';
import { runs } from '../../support/runs.ts';
import { TEST_SEED } from '../../support/seeds.ts';

/** Nights of services in any form. `test/long/gate-property.test.ts` asks Python about the files that are published. */

/** Faults that break a promise in every file. A cut may be between two records, and a changed bit may be harmless. */
const CERTAIN =
  /^(?:left-out|required|column|extra|no header|another header|two rows|fewer|no rows|empty rows|an old|a full sheet|two visible|the file twice|joined)|instead of the file/;
const FOR_GOOD = /^for good: (?:.*, )?excepted|^FileRejected$/;
const BREAKS = { '\n': 'lf', '\r\n': 'crlf', '\r': 'cr' };

/** How a manifest describes the good file of a service. */
function factsOf({ service, rows }: Case) {
  const { kind: format, compression, columns, dialect, total } = service;
  if (format === 'xlsx') return { format, compression, rows };
  const { encoding, byteOrderMark, separatorLine, lineBreak, emptyRows } = dialect;
  // A few letters do not prove windows-1255, and a single row has no line break.
  const known = {
    ...(encoding !== 'windows-1255' && { encoding }),
    ...(rows > 1 && { lineBreak: BREAKS[lineBreak] }),
  };
  const more = (columns.length > 1 ? emptyRows : 0) + (total ? 1 : 0);
  return {
    format,
    compression,
    rows: rows + more,
    dialect: { ...known, byteOrderMark, separatorLine },
  };
}

test('publishes every good file of a service, and no file with a fault that breaks a promise', async () => {
  for (let place = 0; place < runs(1500); place += 1) {
    // Cases at a distance, so that a tenth of them has faults of all kinds.
    const found = await runCase(String(TEST_SEED), place * 7, ['csv', 'xlsx']);
    const { fault, service, end } = found;
    const where = `${found.number}, ${fault}: ${JSON.stringify(service)} ${end.cause}`;

    if (fault === null) {
      expect(outcomeOf(end), where).toBe('PUBLISHED');
      expect(end.manifest?.file, where).toMatchObject(factsOf(found));
    } else if (fault.startsWith('left-out')) expect(outcomeOf(end), where).toMatch(FOR_GOOD);
    else if (CERTAIN.test(fault)) expect(outcomeOf(end), where).not.toBe('PUBLISHED');
  }
});
