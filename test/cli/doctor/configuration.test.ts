import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configured } from '../../../cli/doctor/configuration.ts';
import { deployedOutputs } from '../../../core/config/deployed.ts';
import { deploymentSchema } from '../../../core/config/deployment.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { tempDir } from '../../local/support/support.ts';

const crm = { baseUrl: 'http://127.0.0.1:8080/api/v1', authUrl: 'http://127.0.0.1:8080/auth' };
const deployed = deploymentSchema.parse({ local: true, crm, entities: { leads: { columns: ['id'] } } });
const outputs = deployedOutputs(deployed);

async function configuredBy(file: object | string, known = true) {
  const configuration = join(await tempDir(), 'prod.json');
  await writeFile(configuration, typeof file === 'string' ? file : JSON.stringify(file));
  const options = { deployment: 'prod', configuration, endpointUrl: 'http://127.0.0.1:1' };
  return configured(options, known ? outputs : undefined);
}

test('a file that was deployed as it is', async () => {
  const { finding, unknownPlans, sameNights } = await configuredBy(deployed);
  expect(finding).toMatchObject({
    verdict: 'holds',
    found: expect.stringMatching(/prod\.json is what is deployed\.$/),
  });
  expect({ unknownPlans, sameNights }).toEqual({ unknownPlans: [], sameNights: true });
});

test('a file with other updates: plans are known, and what a night may need beside updates is not', async () => {
  const { unknownPlans, sameNights } = await configuredBy({ ...deployed, updates: { concurrency: 3 } });
  expect({ unknownPlans, sameNights }).toEqual({ unknownPlans: [], sameNights: false });
});

test('config/local.json is not what npm start deploys: the file that it wrote is asked for, not a deployment', () => {
  const { finding } = configured({ deployment: 'local', endpointUrl: 'http://127.0.0.1:1' }, outputs);
  expect(finding).toMatchObject({ verdict: 'warning', advice: expect.stringContaining('npm start -- --keep prints') });
});

test('a file with other addresses: the deployed ones count, and both are named', async () => {
  const { finding, crm: judged } = await configuredBy({
    ...deployed,
    crm: { ...crm, baseUrl: 'http://127.0.0.1:9/api/v1' },
  });
  expect(judged).toMatchObject(crm);
  expect(finding).toMatchObject({
    verdict: 'warning',
    found: expect.stringContaining(
      'differs from what is deployed in crm.baseUrl (deployed: http://127.0.0.1:8080/api/v1; file: http://127.0.0.1:9/api/v1). ',
    ),
  });
});

test('a file with other plans: those entities are not known', async () => {
  const { finding, unknownPlans } = await configuredBy({
    local: true,
    crm,
    entities: { contacts: { enabled: false } },
  });
  expect(unknownPlans).toEqual(['leads', 'contacts']);
  expect(finding.found).toContain('differs from what is deployed in entities.leads, entities.contacts.');
});

test('no file, or a broken one, is no obstacle where the stack tells', async () => {
  const missing = configured({ deployment: 'missing' }, outputs);
  expect(missing).toMatchObject({ crm, file: undefined, unknownPlans: ENTITIES, finding: { verdict: 'warning' } });
  expect(missing.finding.found).toMatch(/missing\.json does not exist; .* What is deployed is looked at here/);
  const broken = await configuredBy({ crm: { ...crm, baseUrl: 'nowhere' } });
  expect(broken.finding).toMatchObject({ verdict: 'warning', found: expect.stringContaining('crm.baseUrl') });
});

test('where the stack does not tell, the file counts and is needed', async () => {
  expect(await configuredBy(deployed, false)).toMatchObject({ crm, finding: { verdict: 'holds' } });
  await expect(configuredBy('{', false)).rejects.toThrow(/is not JSON/);
  expect(() => configured({ deployment: 'missing' }, undefined)).toThrow(/does not exist/);
});
