import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { awsErrorText, describeError, isGone } from '../../cli/support/aws-error.ts';
import { RunError } from '../../core/errors.ts';
import { DEAD_ADDRESS } from '../support/http-server.ts';
import { expectResults, expectTexts } from '../support/screen.ts';
import { bucketRefuses, refused } from './support/cloud/answers.ts';
import { aws } from './support/cloud/cloud.ts';
import { executions } from './support/cloud/executions.ts';
import { halfStack, stack } from './support/cloud/stack.ts';
import type { Part } from './support/cloud/world.ts';
import { runCli } from './support/run-cli.ts';

const newest = { name: 'leads-night', status: 'FAILED', input: {}, start: '2026-11-20T02:00:00.000Z' };
const runs = executions([newest]);
const refusing = (error: string, message?: string): Part => ({ '*': refused(error, message) });
const noStack = (error: string, message: string, status = 403): Part => ({
  DescribeStacks: refused(error, message, { status }),
});
const denied = (right: string) => `User: arn:aws:iam::1:user/x is not authorized to perform: ${right}`;
const otherRelease = stack({ TimeZone: undefined, UndeliveredStartsUrl: undefined });

/** A fault of the account, the exit code, and a command line that finds the fault. */
const ROWS: [what: string, code: number, line: string, ...parts: Part[]][] = [
  ['an unknown run', 2, 'follow leads-nihgt', runs],
  ['an entity without a run', 2, 'logs leads'],
  ['a run of another deployment', 2, 'stop arn:aws:states:us-east-1:1:execution:crm-export-prod-ExportRun:x'],
  ['credentials that have expired', 3, 'start leads', noStack('ExpiredToken', 'The token has expired')],
  ['credentials that expire after the first call', 3, 'start leads', refusing('ExpiredTokenException')],
  ['credentials that expire before the grant is read', 3, 'probe', refusing('ExpiredTokenException')],
  ['unknown credentials', 3, 'start leads', noStack('InvalidClientTokenId', 'The token is invalid')],
  ['no stack', 3, 'start leads --region eu-west-3', noStack('ValidationError', 'Stack x does not exist', 400)],
  ['an unexpected answer', 3, 'start leads', noStack('Odd', 'first\nsecond', 400)],
  ['a stack that is only partly deployed', 3, 'start leads', halfStack({ BucketName: 'bucket' })],
  ['a stack of another release', 3, 'start leads', otherRelease],
  ['a missing state machine', 3, 'start leads', refusing('StateMachineDoesNotExist', 'It Does Not Exist')],
  ['a missing rule', 3, 'pause leads', refusing('ResourceNotFoundException')],
  ['a missing right', 3, 'start leads', refusing('AccessDeniedException', denied('states:StartExecution'))],
  ['no right to see the stack', 3, 'start leads', noStack('AccessDenied', denied('cloudformation:DescribeStacks'))],
  ['a bucket that denies access', 3, 'download leads', bucketRefuses('AccessDenied', 403)],
  ['a bucket that refuses the token', 3, 'report', bucketRefuses('ExpiredToken', 400)],
  ['a bucket that is missing', 3, 'download leads', bucketRefuses('NoSuchBucket', 404)],
];

test('each fault of an account gives one sentence that says what to do, on the screen and as a document', async () => {
  const results = [];
  for (const [what, code, line, ...parts] of ROWS) {
    const { cli } = await aws(...parts);
    const region = line.includes('--region') ? [] : ['--region', 'us-east-1'];
    const result = await cli(...line.split(' '), ...region);
    results.push([`${what}: ${line}`, result] as const);
    expect([what, result.code]).toEqual([what, code]);
    if (!/^(start|download)/.test(line)) continue;
    const { stdout } = await cli(...line.split(' '), ...region, '--json');
    expect(JSON.parse(stdout)).toEqual({ ok: false, error: expect.any(String) });
  }
  await expectResults('aws-errors', results);
});

test('an account that cannot be reached gives one sentence that says what to do', async () => {
  const gone = `--endpoint-url ${DEAD_ADDRESS}`;
  const lines = ['', '--region eu-west-1', '--region eu-west-1 --profile nobody', `${gone} --region us-east-1`];
  const local = '--endpoint-url http://127.0.0.1:4566 --profile sso';
  const results = [];
  for (const line of [...lines, local]) {
    const words = `start leads --deployment test ${line}`.trim().split(' ');
    results.push([line.replace(/^$/, 'no option'), await runCli(...words)] as const);
  }

  expect(results.map(([, { code }]) => code)).toEqual([3, 3, 3, 3, 2]);
  await expectResults('no-account', results);
});

test('each error of the network or of AWS has its sentence, and an object that is missing has none', async () => {
  const error = (name: string, message = 'no') => Object.assign(new Error(message), { name });
  const queue = 'AWS.SimpleQueueService.NonExistentQueue';
  const gone = ['ResourceNotFound', 'NotFoundException', 'QueueDoesNotExist', queue];
  const errors = [
    error('Error', 'getaddrinfo ENOTFOUND cloudformation.eu-wst-1.amazonaws.com'),
    error('CredentialsProviderError', 'Token is expired. To refresh this SSO session run aws sso login'),
    error('Error', 'connect ETIMEDOUT 10.0.0.1:443'),
    error('ThrottlingException', 'Rate exceeded'),
    error('SyntaxError', `Unexpected token '<', "<html><hea"... is not valid JSON\n  Deserialization error: to see …`),
    new AggregateError([new Error('connect ECONNREFUSED ::1:4566')]),
    ...gone.map((name) => error(name)),
  ];

  await expectTexts(
    'network-errors',
    errors.map((each) => [`${each.name} ${each.message}`.trim(), awsErrorText(each) ?? 'none']),
  );
  expect(gone.filter((name) => !isGone(error(name)))).toEqual([]);
  for (const other of [error('NoSuchKey'), error('Error', 'what is this'), 'a text'])
    expect(awsErrorText(other)).toBeUndefined();
  expect(describeError(new RunError('StorageDenied', 'No.')).code).toBe(3);
});

test('an error of a file names it, and a full disk or a wrong TMPDIR says what to change', async () => {
  const temporary = { code: 'ENOENT', path: join(tmpdir(), 'crm-export-1') };
  const errors = [
    { code: 'ENOSPC', syscall: 'write' },
    ...['mkdir', 'mkdtemp', 'open'].map((syscall) => ({ ...temporary, syscall })),
    { code: 'EACCES', syscall: 'mkdir', path: '/x' },
  ];
  const texts = errors.map((fields) => describeError(Object.assign(new Error('x'), fields)).sentence);
  await expectTexts('file-errors', [['errors of files', texts.join('\n').replaceAll(tmpdir(), '/tmp')]]);
});
