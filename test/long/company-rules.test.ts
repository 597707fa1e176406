import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CloudFormationClient,
  DeleteStackCommand,
  DescribeStacksCommand,
  GetTemplateCommand,
} from '@aws-sdk/client-cloudformation';
import { expect, inject, onTestFinished, test } from 'vitest';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../../local/ministack/ministack-environment.ts';
import { openRunRecord } from '../../local/processes/run-record.ts';
import type { Template } from '../../scripts/template.ts';
import { fencedBlock } from '../support/fenced-block.ts';
import { DEAD_ADDRESS } from '../support/http-server.ts';
import { CACHE, PROJECT } from '../support/project.ts';
import { run } from '../support/running.ts';

const PAGE = 'docs/company-rules.md';
const StackName = 'crm-export-company';

/** Writes the files of the page to a new home folder, and runs `cdk` with them. */
async function person() {
  const { env, endpoint } = inject('cloud');
  const record = await openRunRecord(CACHE);
  const credentials = { accessKeyId: LOCAL_ACCOUNT, secretAccessKey: 'local' };
  const cloudformation = new CloudFormationClient({ endpoint, region: LOCAL_REGION, credentials });
  onTestFinished(async () => {
    await cloudformation.send(new DeleteStackCommand({ StackName }));
    await record.close();
  });
  const home = await mkdtemp(join(record.workDir, 'home-'));
  await writeFile(join(home, '.cdk.json'), fencedBlock(PAGE, '## Boundary, bootstrap and tags', 'json'));
  const app = join(home, 'company.ts');
  const source = fencedBlock(PAGE, '## Administrators of the key', 'ts');
  await writeFile(app, source.replaceAll("'./lib/", `'${PROJECT}/lib/`));
  const configuration = join(home, 'company.json');
  const crm = { baseUrl: `${DEAD_ADDRESS}/api/v1`, authUrl: DEAD_ADDRESS };
  await writeFile(configuration, JSON.stringify({ local: true, customerUpdates: true, dashboard: true, crm }));
  const context = ['-c', 'deployment=company', '-c', `configuration=${configuration}`, '--output', join(home, 'out')];
  const cdk = async (...args: string[]) => {
    const settings = { ...env, HOME: home, CDK_APP: `node '${app}'` };
    const running = run('node_modules/aws-cdk/bin/cdk', [...args, ...context, '--no-color', '--ci', '--yes'], settings);
    const code = await running.ended;
    return { code, text: running.stdout() + running.stderr() };
  };
  return { cdk, cloudformation };
}

test('the documented company setup deploys, after an error for the missing bootstrap', async () => {
  const { cdk, cloudformation } = await person();

  const early = await cdk('deploy', '--require-approval', 'never');

  expect(early.code).toBe(1);
  expect(early.text).toMatch(/has the environment been bootstrapped\? Please run 'cdk bootstrap'/i);
  await expect(cloudformation.send(new DescribeStacksCommand({ StackName }))).rejects.toMatchObject({
    name: 'ValidationError',
  });

  const place = `aws://${LOCAL_ACCOUNT}/${LOCAL_REGION}`;
  const ready = await cdk('bootstrap', '--qualifier', 'company', '--toolkit-stack-name', 'CDKToolkit-company', place);
  expect(ready.code, ready.text).toBe(0);
  const deployed = await cdk('deploy', '--require-approval', 'never');
  expect(deployed.code, deployed.text).toBe(0);

  const { Stacks: [stack] = [] } = await cloudformation.send(new DescribeStacksCommand({ StackName }));
  expect(stack?.Tags).toEqual([{ Key: 'cost-center', Value: '4711' }]);
  const { TemplateBody = '' } = await cloudformation.send(new GetTemplateCommand({ StackName }));
  const { Resources } = JSON.parse(TemplateBody) as Template;
  for (const { Type, Properties } of Object.values(Resources)) {
    if (Type === 'AWS::IAM::Role') expect(JSON.stringify(Properties.PermissionsBoundary)).toContain('company-boundary');
    if (Type === 'AWS::KMS::Key') expect(JSON.stringify(Properties.KeyPolicy)).toContain('role/key-administrators');
    if (Type === 'AWS::S3::Bucket') expect(Properties.Tags).toContainEqual({ Key: 'data-class', Value: 'personal' });
  }
});
