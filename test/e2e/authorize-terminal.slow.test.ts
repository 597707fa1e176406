import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CloudFormationClient, CreateStackCommand } from '@aws-sdk/client-cloudformation';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../cli/support/target.ts';
import { deployedOf, metadataOf } from '../../core/config/deployed.ts';
import { createGrantStore } from '../../core/oauth/grant.ts';
import { answerConsent, approveConsent } from '../../sandbox/approve.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { deployment } from '../support/builders.ts';
import { fencedBlock } from '../support/fenced-block.ts';
import { LONGEST_WAIT_MS, tempDir } from '../support/project.ts';
import { inTerminal } from '../support/pty.ts';
import { functionAt, makePlaces } from './support/grant-places.ts';
import { localPlace } from './support/vpc.ts';

/** Runs the command as a person does: in a terminal of the operating system, with a stack. */

const cloud = inject('cloud');
let deployments = 0;

/** Deploys secrets, a ledger, and a stack that tells of them and of these addresses. @returns the name of the deployment */
async function deploy(authUrl: string): Promise<string> {
  const name = `local-${++deployments}`;
  const { ClientSecretId, TokensSecretId, LedgerTableName } = await makePlaces(cloud.endpoint);
  const others = { StateMachineArn: 'x', BucketName: 'x', AlarmTopicArn: 'x', SoftwareVersion: 'x', TimeZone: 'UTC' };
  const outputs = { ClientSecretId, TokensSecretId, LedgerTableName, UndeliveredStartsUrl: 'x', ...others };
  const configuration = deployment({ crm: { baseUrl: `${authUrl}/api/v1`, authUrl } });
  const TemplateBody = JSON.stringify({
    Metadata: metadataOf(deployedOf(configuration)),
    Resources: { Handle: { Type: 'AWS::CloudFormation::WaitConditionHandle' } },
    Outputs: Object.fromEntries(Object.entries(outputs).map(([output, Value]) => [output, { Value }])),
  });
  const client = new CloudFormationClient(localPlace());
  await client.send(new CreateStackCommand({ StackName: `crm-export-${name}`, TemplateBody }));
  return name;
}

async function terminal(authUrl: string, args: string[], env: NodeJS.ProcessEnv = {}) {
  return terminalAt(await deploy(authUrl), ['authorize', ...args], env);
}

function terminalAt(name: string, [command = '', ...args]: string[], env: NodeJS.ProcessEnv = {}) {
  const place = ['--deployment', name, '--endpoint-url', cloud.endpoint];
  return inTerminal(['cli/main.js', command, ...place, ...args], { CRM_CLIENT_SECRET: '', ...env });
}

/** Stands for the browser. @returns the folder for PATH, and its arguments; `-secret` follows if it gets the secret */
async function browser() {
  const dir = await tempDir();
  const script = `#!/bin/sh\necho "$@"\${CRM_CLIENT_SECRET+-secret} > ${dir}/unfinished && mv ${dir}/unfinished ${dir}/arguments\n`;
  await writeFile(join(dir, 'xdg-open'), script, { mode: 0o755 });
  const args = () => vi.waitFor(async () => (await readFile(join(dir, 'arguments'), 'utf8')).trim(), LONGEST_WAIT_MS);
  return { PATH: `${dir}:${process.env.PATH}`, args };
}

test('asks for secret and address without showing them, and prints no token', async () => {
  const sandbox = await startSandbox({ clientSecret: 'a-s3cret-of-the-client' });
  onTestFinished(sandbox.close);
  const { PATH, args } = await browser();
  const { type, shows, ended, shown } = await terminal(sandbox.authUrl, ['--client-id', sandbox.clientId], { PATH });

  await shows(/Secret of the OAuth client sandbox-client \(not shown\): /);
  type(`${sandbox.clientSecret}\r`);
  const url = await shows(/^Open: (http\S+)\r?\n/m);
  await shows(/ssh -L \d+:127\.0\.0\.1:\d+ /);
  await shows(/Or paste here/);
  // Other users can read the arguments of a process, so they do not hold the address with `state`.
  const page = await fetch(await args(), { redirect: 'manual' });
  expect(page.headers.get('location')).toBe(url);
  type('what now\r');
  await shows(/does not recognise this text\./);
  const { href: address } = await answerConsent(url, 'allow');
  type(`${address}\r`);

  expect(await ended, shown()).toBe(0);
  expect(shown()).toMatch(/^Authorized\. .*; VersionId: \S+; scopes: openid profile global:export; .*: yes\.\r?$/m);
  const code = new URL(address).searchParams.get('code') ?? '';
  for (const secret of [sandbox.clientSecret, address, code, 'what now', 'at_', 'rt_']) {
    expect(shown()).not.toContain(secret);
  }
  expect(sandbox.ledger.violations()).toEqual([]);
});

test('the commands of docs/operating.md restore a client whose secret the CRM has changed', async () => {
  const sandbox = await startSandbox();
  onTestFinished(sandbox.close);
  const name = await deploy(sandbox.authUrl);
  const consents = async (args: string[], secret: string) => {
    const { type, shows, ended, shown } = terminalAt(name, [...args, '--no-browser']);
    await shows(/Secret of the OAuth client sandbox-client \(not shown\): /);
    type(`${secret}\r`);
    await approveConsent(await shows(/^Open: (http\S+)\r?\n/m));
    await ended;
    return shown();
  };
  const target = await connect({ deployment: name, endpointUrl: cloud.endpoint });
  const { baseUrl, authUrl } = sandbox;
  const { crm } = deployment({ crm: { baseUrl, authUrl } });
  /** Refreshes the grant as a run does; there is no machine here. */
  const refresh = async () => {
    const { tokens } = await createGrantStore(target.secrets, target.TokensSecretId).current();
    await functionAt({ target }, crm)({ rejected: tokens.accessToken });
  };
  const block = fencedBlock('docs/operating.md', "## Rotate the client's secret", 'sh');
  const [, line = ''] = /^npx --no -- crm-export (.*) --run leads$/m.exec(block) ?? [];
  const authorize = line.replace(' --deployment NAME', '').replace('PORT', '0').split(' ');
  await consents(['authorize', '--client-id', sandbox.clientId], sandbox.clientSecret);
  sandbox.settings.clientSecret = 'the-new-secret';
  await expect(refresh()).rejects.toThrow(/invalid_client\. .* --new-secret\./);

  expect(await consents(authorize, 'a-wrong-one')).toMatch(/invalid_client\. .* typed: /);
  expect(await consents(authorize, 'the-new-secret')).toMatch(/^Authorized\. .*\r?\nNext, .* start leads /m);

  await refresh();
  expect(sandbox.ledger.violations()).toEqual([]);
});
