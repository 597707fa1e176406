import { afterEach, expect, test, vi } from 'vitest';
import { awsErrorText, isGone } from '../../cli/support/aws-error.ts';
import { freePort } from '../../local/ministack/ports.ts';
import { refused } from './support/cloud/answers.ts';
import { aws } from './support/cloud/cloud.ts';
import { executions } from './support/cloud/executions.ts';
import { DEPLOYMENT, halfStack } from './support/cloud/stack.ts';
import type { Part } from './support/cloud/world.ts';
import { runCli } from './support/run-cli.ts';

const deployed = ['--deployment', DEPLOYMENT];
const NEWEST = 'leads-20261120T020000Z-1a2b3c';
const newest = { name: NEWEST, status: 'FAILED', input: {}, start: '2026-11-20T02:00:00.000Z' };

afterEach(() => {
  vi.unstubAllEnvs();
});

type StartServer = () => Promise<string>;
const of =
  (...parts: Part[]): StartServer =>
  async () =>
    (await aws(...parts)).endpoint;
const refusing = (error: string, message?: string) => of({ '*': refused(error, message) });
const noStack = (error: string, message: string, status = 403) =>
  of({ DescribeStacks: refused(error, message, { status }) });
const DENIED = 'User: arn:aws:iam::1:user/x is not authorized to perform: states:StartExecution';

const start = ['start', 'leads'];
const wrong: [what: string, args: string[], place: StartServer | undefined, code: number, sentence: RegExp][] = [
  [
    'an unknown entity',
    ['start', 'leeds'],
    undefined,
    2,
    /There is no entity "leeds" \(did you mean "leads"\?\); there are leads, .*\nTo see all options and examples, add --help\.$/,
  ],
  ['an unknown entity among known ones', ['pause', 'leads', 'meeting'], undefined, 2, /did you mean "meetings"\?/],
  ['no entity', ['start'], undefined, 2, /^Name one or more of leads, .*, or else --all\.$/],
  ['entities and --all', ['pause', 'leads', '--all'], undefined, 2, /^Name one or more of .*, or else --all\.$/],
  [
    'an unknown run',
    ['follow', 'leads-20261120T020000Z-1a2b3d'],
    of(executions([newest])),
    2,
    /^There is no run "leads-\S+3d" \(did you mean "leads-20261120T020000Z-1a2b3c"\?\); the newest runs are leads-\S+\.$/,
  ],
  [
    'an entity without a run',
    ['logs', 'leads'],
    of(),
    2,
    /^There is no run of leads yet: npx --no -- crm-export start leads .*--deployment test\.$/,
  ],
  [
    'a run of another deployment',
    ['stop', 'arn:aws:states:us-east-1:1:execution:crm-export-prod-ExportRun:x'],
    of(),
    2,
    /^This ARN is not a run of the deployment, .*: check --deployment\.$/,
  ],
  ['no region', start, undefined, 3, /^No AWS region is set: add --region, or set AWS_REGION\.$/],
  [
    'no credentials',
    [...start, '--region', 'eu-west-1'],
    undefined,
    3,
    /^There are no AWS credentials: .* Log in, check --profile, or set AWS_ACCESS_KEY_ID /,
  ],
  [
    'a profile that does not exist',
    [...start, '--region', 'eu-west-1', '--profile', 'nobody'],
    undefined,
    3,
    /^There are no AWS credentials: .* Log in, check --profile, or set /,
  ],
  [
    'credentials that have expired',
    start,
    noStack('ExpiredToken', 'The security token included in the request is expired'),
    3,
    /^The AWS credentials have expired \(ExpiredToken\): log in again, or name others with --profile\.$/,
  ],
  [
    'credentials that expire after the first call',
    start,
    refusing('ExpiredTokenException'),
    3,
    /^The AWS credentials have expired \(ExpiredTokenException\)/,
  ],
  [
    'unknown credentials',
    start,
    noStack('InvalidClientTokenId', 'The security token included in the request is invalid'),
    3,
    /^AWS does not accept these credentials \(InvalidClientTokenId\): log in, or check --profile\.$/,
  ],
  [
    'a region without the stack, or no stack at all',
    [...start, '--region', 'eu-west-3'],
    noStack('ValidationError', 'Stack with id crm-export-test does not exist', 400),
    3,
    /^There is no stack crm-export-test here: check --deployment, --profile and --region \(this is eu-west-3\), or deploy it first\.$/,
  ],
  [
    'a stack that is only partly deployed',
    start,
    of(halfStack({ BucketName: 'bucket' })),
    3,
    /^The stack crm-export-test is only partly deployed \(ROLLBACK_COMPLETE\): deploy it again\.$/,
  ],
  [
    'a stack whose state machine is missing',
    start,
    refusing('StateMachineDoesNotExist', 'State Machine Does Not Exist'),
    3,
    /^A part of the deployment is missing \(StateMachineDoesNotExist: .*\): restore what was changed or deleted by hand, which an ordinary deployment does not: AWS_ENDPOINT_URL=\S+ npx cdk deploy -c deployment=test --revert-drift( --region us-east-1)?\.$/,
  ],
  [
    'a stack whose rule is missing',
    ['pause', 'leads'],
    refusing('ResourceNotFoundException'),
    3,
    /^There is no rule crm-export-test-leads: restore what was changed or deleted by hand, which an ordinary deployment does not: AWS_ENDPOINT_URL=\S+ npx cdk deploy -c deployment=test --revert-drift( --region us-east-1)?\.$/,
  ],
  [
    'a missing right',
    start,
    refusing('AccessDeniedException', DENIED),
    3,
    /^AWS denies access \(AccessDeniedException\): User: .* perform: states:StartExecution\. Use other credentials/,
  ],
  [
    'a missing right to describe the stack',
    start,
    noStack('AccessDenied', DENIED.replace('states:StartExecution', 'cloudformation:DescribeStacks')),
    3,
    /^AWS denies access \(AccessDenied\): .*cloudformation:DescribeStacks\. /,
  ],
  [
    'a local cloud that has stopped',
    start,
    async () => `http://127.0.0.1:${await freePort()}`,
    3,
    /^The local cloud does not answer at 127\.0\.0\.1:\d+ \(ECONNREFUSED\): it has ended\. Start one: npm start -- --keep/,
  ],
];

test.for(wrong)(
  '%s: prints one sentence that says what to do, and exits with its code',
  async ([, args, place, code, sentence]) => {
    const where = place ? ['--endpoint-url', await place()] : [];
    // The first named region counts.
    const region = place && !args.includes('--region') ? ['--region', 'us-east-1'] : [];

    const text = await runCli(...args, ...deployed, ...where, ...region);

    expect(text).toMatchObject({ code, stdout: '' });
    expect(text.stderr.trimEnd()).toMatch(sentence);
    expect(text.stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(2);
    if (args[0] !== 'start') return;
    const json = await runCli(...args, ...deployed, ...where, ...region, '--json');
    expect({ code: json.code, document: JSON.parse(json.stdout) }).toEqual({
      ...{ code, document: { ok: false, error: expect.any(String) } },
    });
  },
);

test('an unknown host, an expired session and a lost network each have a sentence', () => {
  const failed = (message: string, name = 'Error') => awsErrorText(Object.assign(new Error(message), { name }));
  expect(failed('getaddrinfo ENOTFOUND cloudformation.eu-wst-1.amazonaws.com')).toBe(
    'The host cloudformation.eu-wst-1.amazonaws.com was not found: check --region, and the network.',
  );
  expect(failed('Token is expired. To refresh this SSO session run aws sso login', 'CredentialsProviderError')).toBe(
    'The AWS credentials have expired: Token is expired. To refresh this SSO session run aws sso login. Log in again.',
  );
  expect(failed('connect ETIMEDOUT 10.0.0.1:443')).toMatch(/^AWS does not answer \(ETIMEDOUT\): check the network/);
  expect(failed('Rate exceeded', 'ThrottlingException')).toMatch(/^AWS throttles the calls/);
  expect(awsErrorText(new AggregateError([new Error('connect ECONNREFUSED ::1:4566')]))).toMatch(
    /does not answer at ::1/,
  );
  expect(failed('what is this')).toBeUndefined();
  expect(awsErrorText('a text')).toBeUndefined();
});

test.each(['ResourceNotFound', 'NotFoundException', 'QueueDoesNotExist', 'AWS.SimpleQueueService.NonExistentQueue'])(
  '%s says that a part of the deployment is missing, for a text and for a finding',
  (name) => {
    const error = Object.assign(new Error('no'), { name });
    expect(awsErrorText(error)).toMatch(
      /^A part of the deployment is missing \(\S+: no\): restore .* --revert-drift\.$/,
    );
    expect(isGone(error)).toBe(true);
  },
);

test('an object that is missing in the bucket is no missing part of the deployment', () => {
  expect(awsErrorText(Object.assign(new Error('no'), { name: 'NoSuchKey' }))).toBeUndefined();
});
