import { expect, test } from 'vitest';
import { configured, withExtraKeys } from '../../../cli/health/doctor-configuration.ts';
import { ConfigurationError } from '../../../core/config/configuration.ts';
import { deployedOf, metadataOf } from '../../../core/config/deployed.ts';
import { deploymentSchema } from '../../../core/config/deployment.ts';
import { DEAD_ADDRESS } from '../../support/http-server.ts';
import { tempFile } from '../../support/project.ts';
import { aws } from '../support/cloud/cloud.ts';
import { template } from '../support/cloud/stack.ts';
import { expectFindings } from '../support/findings.ts';

const crm = { baseUrl: 'http://127.0.0.1:8080/api/v1', authUrl: 'http://127.0.0.1:8080/auth' };
const PUBLIC = { baseUrl: 'https://crm.example.com/api/v1', authUrl: 'https://auth.example.com' };
const filters = [{ field: 'status', value: 'open' }];
const leads = { columns: { except: ['notes'] }, filters, extra: { archive: true } };
const file = { local: true, crm, entities: { leads } };
const deployed = deployedOf(deploymentSchema.parse(file));

function optionsWith(content: object | string) {
  const configuration = tempFile(typeof content === 'string' ? content : JSON.stringify(content), 'prod.json');
  return { deployment: 'prod', configuration, endpointUrl: DEAD_ADDRESS };
}
const configuredBy = (content: object | string, known = true) =>
  configured(optionsWith(content), known ? deployed : undefined);

test('compares the configuration file with what is deployed, and shows no hidden value', async () => {
  const there = { ...crm, baseUrl: `${DEAD_ADDRESS}/api/v1` };
  const changed = { leads: { ...leads, extra: { archive: 'canary' } }, contacts: { enabled: false } };
  const names = Array.from({ length: 500 }, (_, n) => `column_${n}`);
  const files: [string, object][] = [
    ['the deployed file', file],
    ['with other addresses', { ...file, crm: there }],
    ['with other settings', { ...file, entities: changed }],
    ['with a long list', { ...file, entities: { leads: { ...leads, columns: names } } }],
    ['invalid', { crm: { ...crm, baseUrl: 'nowhere' } }],
  ];
  const local = configured({ deployment: 'local', endpointUrl: DEAD_ADDRESS }, deployed);
  const missing = configured({ deployment: 'missing' }, deployed);
  const found = files.map(([what, content]) => [what, configuredBy(content)] as const);
  const all = [...found, ['config/local.json', local] as const, ['missing', missing] as const];

  await expectFindings(
    'configuration-findings',
    all.map(([what, { finding }]) => [what, finding]),
  );
  // The deployed addresses are the ones that are checked. Its template hides filters, which come from the file.
  for (const [, { deployment }] of all) expect(deployment.crm).toMatchObject(crm);
  expect(found[0]?.[1].deployment.entities.leads).toMatchObject(leads);
});

test.each([
  ['the deployed ones', { archive: true }, []],
  ['others', { archive: 'canary' }, ['leads']],
])('extra keys of requests come from a file that has %s', (_, extra, unknown) => {
  const known = withExtraKeys(optionsWith({ ...file, entities: { leads: { ...leads, extra } } }), deployed);
  expect(known.unknown).toEqual(unknown);
  expect(known.deployment.entities.leads.extra).toEqual(unknown.length === 0 ? extra : {});
  expect(withExtraKeys({ deployment: 'missing' }, deployed).unknown).toEqual(['leads']);
});

test('before a first deployment, requires the file and checks it', () => {
  const { deployment, finding } = configuredBy(file, false);
  expect(deployment).toMatchObject({ crm });
  expect(finding).toMatchObject({ verdict: 'holds' });
  expect(() => configuredBy('{', false)).toThrow(ConfigurationError);
  expect(() => configured({ deployment: 'missing' }, undefined)).toThrow(ConfigurationError);
});

test('if an entity is not deployed yet, advises a deployment and checks the file', async () => {
  const { meetings: _, ...entities } = deployed.entities;
  const older = metadataOf({ ...deployed, entities: entities as typeof deployed.entities });
  const { cli, endpoint } = await aws(template({ Metadata: older, Resources: {} }));
  const configuration = tempFile(JSON.stringify({ ...file, local: false, crm: PUBLIC }), 'test.json');

  const { code, stdout } = await cli('doctor', '--configuration', configuration);

  expect(code).toBe(2);
  expect(stdout).toMatch(/^✕ configuration: .*^\? service: /ms);
  expect(stdout).toContain(`AWS_ENDPOINT_URL=${endpoint}`);
});
