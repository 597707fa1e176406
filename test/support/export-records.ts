import type { Invocation } from '../../core/step/step.ts';
import { FakeLedger } from '../oauth/support/fake-ledger.ts';
import { testDeps } from './deps.ts';
import { fakeBucket } from './fake-bucket.ts';
import type { fakeCrm } from './fake-crm.ts';

/** A table in memory without delays. */
export const emptyLedger = () => new FakeLedger(async () => {});

/** The table of CreateExport: without claims and earlier exports by default. */
export const tableOf = (ledger = emptyLedger()) => ({ client: ledger.client, name: 'ledger' });

/** The dependencies of CreateExport, with an empty bucket. */
export function createDeps(
  crm: ReturnType<typeof fakeCrm>,
  overrides: Partial<Invocation> = {},
  ledger = emptyLedger(),
) {
  return { ...testDeps(overrides), crm, table: tableOf(ledger), read: fakeBucket().read, softwareVersion: '1.2.3' };
}
