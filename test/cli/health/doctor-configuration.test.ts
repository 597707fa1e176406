import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configured, withExtraKeys } from '../../../cli/health/doctor-configuration.ts';
import { deployedOf, metadataOf } from '../../../core/config/deployed.ts';
import { deploymentSchema } from '../../../core/config/deployment.ts';
import { tempDir } from '../../support/project.ts';
import { aws } from '../support/cloud/cloud.ts';
import { template } from '../support/cloud/stack.ts';

const crm = { baseUrl: 'http://127.0.0.1:8080/api/v1', authUrl: 'http://127.0.0.1:8080/auth' };
const PUBLIC = { baseUrl: 'https://crm.example.com/api/v1', authUrl: 'https://auth.example.com' };
const filters = [{ field: 'status', value: 'open' }];
const leads = { columns: { except: ['notes'] }, filters, extra: { archive: true } };
const file = { local: true, crm, entities: { leads } };
const deployed = deployedOf(deploymentSchema.parse(file));

/** The options of a command with this configuration file. */
async function optionsWith(content: object | string) {
  const configuration = join(await tempDir(), 'prod.json');
  await writeFile(configuration, typeof content === 'string' ? content : JSON.stringify(content));
  return { deployment: 'prod', configuration, endpointUrl: 'http://127.0.0.1:1' };
}
const configuredBy = async (content: object | string, known = true) =>
  configured(await optionsWith(content), known ? deployed : undefined);

test('the deployed file is named as such, and its filters, which the template hides, are checked', async () => {
  const { finding, deployment } = await configuredBy(file);
  expect(deployment.entities.leads).toMatchObject(leads);
  expect(finding).toMatchObject({
    verdict: 'holds',
    found: expect.stringMatching(/prod\.json is what is deployed\.$/),
  });
});

test('reports no difference between the local deployment and config/local.json in addresses', () => {
  const { finding } = configured({ deployment: 'local', endpointUrl: 'http://127.0.0.1:1' }, deployed);
  expect(finding).toMatchObject({ verdict: 'holds', advice: null });
});

test('with other addresses in the file, uses the deployed ones and names both', async () => {
  const there = 'http://127.0.0.1:9/api/v1';
  const { finding, deployment } = await configuredBy({ ...file, crm: { ...crm, baseUrl: there } });
  expect(deployment.crm).toMatchObject(crm);
  expect(finding).toMatchObject({ verdict: 'warning' });
  expect(finding.found).toContain(` would change crm.baseUrl (deployed: "${crm.baseUrl}"; file: "${there}"). `);
});

test('names each setting that the file would change, and does not show hidden values', async () => {
  const { finding } = await configuredBy({
    ...{ local: true, crm },
    entities: { leads: { ...leads, extra: { archive: 'canary' } }, contacts: { enabled: false } },
  });
  expect(finding.found).toMatch(
    /would change entities\.leads\.extra \(not shown\), entities\.contacts\.enabled \(deployed: true; file: false\)\. /,
  );
  expect(JSON.stringify(finding)).not.toContain('canary');
});

test('shows only the length of a long list', async () => {
  const names = Array.from({ length: 500 }, (_, n) => `column_${n}`);
  const { finding } = await configuredBy({ ...file, entities: { leads: { ...leads, columns: names } } });
  expect(finding.found).toContain('entities.leads.columns (deployed: {"except":["notes"]}; file: 500 entries)');
});

test.each([
  ['the deployed ones', { archive: true }, []],
  ['others', { archive: 'canary' }, ['leads']],
])('extra keys of requests come from a file that has %s', async (_, extra, unknown) => {
  const known = withExtraKeys(await optionsWith({ ...file, entities: { leads: { ...leads, extra } } }), deployed);
  expect(known.unknown).toEqual(unknown);
  expect(known.deployment.entities.leads.extra).toEqual(unknown.length === 0 ? extra : {});
  expect(withExtraKeys({ deployment: 'missing' }, deployed).unknown).toEqual(['leads']);
});

test('checks the deployed configuration if the file is missing or invalid', async () => {
  const missing = configured({ deployment: 'missing' }, deployed);
  expect(missing).toMatchObject({ deployment: { crm } });
  expect(missing.finding).toMatchObject({ verdict: 'warning' });
  expect(missing.finding.found).toMatch(/missing\.json does not exist; .* The deployed configuration is checked here/);
  const broken = await configuredBy({ crm: { ...crm, baseUrl: 'nowhere' } });
  expect(broken.finding).toMatchObject({ verdict: 'warning', found: expect.stringContaining('crm.baseUrl') });
});

test('before a first deployment, requires the file and checks it', async () => {
  const { deployment, finding } = await configuredBy(file, false);
  expect(deployment).toMatchObject({ crm });
  expect(finding).toMatchObject({ verdict: 'holds' });
  await expect(configuredBy('{', false)).rejects.toThrow(/is not JSON/);
  expect(() => configured({ deployment: 'missing' }, undefined)).toThrow(/does not exist/);
});

test('if an entity is not deployed yet, advises a deployment and checks the file', async () => {
  const { meetings: _, ...entities } = deployed.entities;
  const older = metadataOf({ ...deployed, entities: entities as typeof deployed.entities });
  const { cli, endpoint } = await aws(template({ Metadata: older, Resources: {} }));
  const configuration = join(await tempDir(), 'test.json');
  await writeFile(configuration, JSON.stringify({ ...file, local: false, crm: PUBLIC }));

  const { code, stdout } = await cli('doctor', '--configuration', configuration);

  expect(code).toBe(2);
  const advice = `AWS_ENDPOINT_URL=${endpoint} npx cdk deploy -c deployment=test`;
  expect(stdout).toMatch(
    /^✕ configuration: .*: deploy this release\. Until then, the configuration file is checked here\.$/m,
  );
  expect(stdout).toContain(`checked here.\n    -> ${advice}\n`);
  expect(stdout).toMatch(/^\? service: .* missing: a grant\.$/m);
});
