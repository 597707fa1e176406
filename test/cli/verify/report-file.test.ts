import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stackOf } from '../../../cli/checks/deployed-stack.ts';
import { broken, holds } from '../../../cli/checks/finding.ts';
import { writeReport } from '../../../cli/verify/report-file.ts';
import { addVerify } from '../../../cli/verify/verify-command.ts';
import { tempDir } from '../../local/support/support.ts';
import { denied, xml } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { stack } from '../support/cloud/stack.ts';
import { useCommands } from '../support/run-cli.ts';

useCommands({ verify: addVerify });

/** The file that is sent back. */

const asked = { question: 'Is it?', rights: ['s3:GetObject'] };
const QUEUE = { logicalId: 'Q', type: 'AWS::SQS::Queue', properties: {}, physicalId: 'q' };

test('it has release, region, resources, and of each check the outcome and the sentence, without account, people and addresses', async () => {
  const file = join(await tempDir(), 'verify.json');
  const { target } = await aws();
  const checks = [
    { ...holds('arn:aws:kms:us-east-1:000000000000:key/1 is rotated'), id: 'a', ...asked },
    { ...holds('it is at https://bucket.example.com/x?X-Amz-Signature=abc now'), id: 'b', ...asked },
    { ...broken('arn:aws:sts::000000000000:assumed-role/x/dana; dana@example.com', 'Ask.'), id: 'c', ...asked },
    { ...broken("npx --no -- crm-export show a --profile 'of dana' --deployment test", 'Ask.'), id: 'd', ...asked },
    { ...broken('Principal lacks 444455556666 and has AROAEXAMPLEID1234567; o-a1b2c3d4e5', 'Ask.'), id: 'e', ...asked },
  ];
  const verified = { checks, runs: ['leads-verify-1'], stack: stackOf([QUEUE, { ...QUEUE, logicalId: 'R' }]) };

  await writeReport(file, { target, verified, ok: false, options: { entity: 'leads', alarm: true, updates: false } });

  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
    schemaVersion: 1,
    madeAt: expect.stringMatching(/Z$/),
    release: '0.2.0',
    region: 'us-east-1',
    local: true,
    options: { entity: 'leads', alarm: true, updates: false },
    resources: { 'AWS::SQS::Queue': 2 },
    ok: false,
    checks: [
      { id: 'a', verdict: 'holds', found: 'arn:aws:kms:us-east-1:ACCOUNT:key/1 is rotated' },
      { id: 'b', verdict: 'holds', found: 'it is at (an address) now' },
      { id: 'c', verdict: 'broken', found: '(a principal) (a mail address)' },
      { id: 'd', verdict: 'broken', found: 'npx --no -- crm-export show a --deployment test' },
      { id: 'e', verdict: 'broken', found: 'Principal lacks (an account) and has (a principal); (an organization)' },
    ],
  });
});

test('verify --report writes it whatever the checks came to', async () => {
  const file = join(await tempDir(), 'verify.json');
  const resources = '<StackResourceSummaries></StackResourceSummaries>';
  const listed = `<ListStackResourcesResponse><ListStackResourcesResult>${resources}</ListStackResourcesResult></ListStackResourcesResponse>`;
  const { cli } = await aws(denied('UpdateItem'), { ListStackResources: xml(listed) });

  const { code, stderr } = await cli('verify', '--report', file);

  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`The report is in ${file}.`) });
  const { ok, checks } = JSON.parse(await readFile(file, 'utf8'));
  expect({ ok, export: checks[0] }).toEqual({
    ok: false,
    export: { id: 'export', verdict: 'unknown', found: expect.stringContaining('dynamodb:UpdateItem') },
  });
});

test.for([
  ['that exists', 'there.json', /there\.json exists, and is never overwritten: name another\. Nothing was made\.\n$/],
  ['without a folder', 'no/folder.json', /no\/folder\.json cannot be written, for its folder is not there or is/],
  ['that is a folder', '', /exists, and is never overwritten/],
] as const)(
  'a report in a file %s is refused in one sentence, before anything is asked',
  async ([, name, sentence]) => {
    const folder = await tempDir();
    await writeFile(join(folder, 'there.json'), 'mine');
    const { cli, calls } = await aws(stack());

    const { code, stdout, stderr } = await cli('verify', '--report', join(folder, name));

    expect({ code, stdout, calls }).toEqual({ code: 2, stdout: '', calls: [] });
    expect(stderr).toMatch(sentence);
    expect(await readFile(join(folder, 'there.json'), 'utf8')).toBe('mine');
  },
);
