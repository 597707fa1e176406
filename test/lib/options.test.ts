import { join } from 'node:path';
import { expect, test } from 'vitest';
import { textTable } from '../../cli/support/text.ts';
import {
  exampleDeployment,
  feedDeployment,
  NETWORK,
  tableDeployment,
  updatingDeployment,
} from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { resolved } from '../../scripts/template.ts';

/** Each option, and the deployment that it extends. */
const OPTIONS = [
  ['customerUpdates', updatingDeployment(), exampleDeployment()],
  ['dashboard', exampleDeployment({ dashboard: true }), exampleDeployment()],
  ['network', exampleDeployment({ network: NETWORK }), exampleDeployment()],
  ['tables', tableDeployment(), exampleDeployment()],
  ['tables.hash', tableDeployment({ hash: ['idNumber'] }), tableDeployment()],
  ['changes', feedDeployment(), tableDeployment()],
] as const;

/** The ids of all parts of a template with their types. CDK appends digests to ids. */
function partsOf(deployment: ReturnType<typeof exampleDeployment>): string[][] {
  const { Parameters = {}, Rules = {}, Resources, Outputs } = synthesise(deployment);
  const typed = Object.entries({ ...Parameters, ...Resources }).map(([id, { Type }]) => [id, Type]);
  const rules = Object.keys(Rules).map((id) => [id, 'rule']);
  const outputs = Object.entries(Outputs).map(([id, { Value }]) => [id, `output ${resolved(Value)}`]);
  return [...typed, ...rules, ...outputs].map(([id = '', what = '']) => [id.replace(/[0-9A-Fa-f]{8,40}$/, ''), what]);
}

test('each option adds the parts in the stored table, which do not exist without it', async () => {
  const rows = OPTIONS.flatMap(([option, deployment, extended]) => {
    const before = new Set(partsOf(extended).map(String));
    return partsOf(deployment)
      .filter((part) => !before.has(String(part)))
      .map((part) => [option, ...part]);
  });
  const table = `${textTable(['option', 'adds', 'what'], rows)}\n`;
  await expect(table).toMatchFileSnapshot(join(import.meta.dirname, '../screens/options.txt'));
});
