import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { broken, type Checked, type Finding, holds, unknown, warning } from '../../../cli/health/check.ts';
import { exitCodeOf, linesOf } from '../../../cli/health/doctor.ts';
import {
  accessTokenFinding,
  clientFinding,
  grantFinding,
  ledgerFinding,
  refreshFinding,
  scopesFinding,
  storedFinding,
} from '../../../cli/health/grant-checks.ts';
import { columnsFindings } from '../../../cli/health/service-checks.ts';
import type { LedgerItem } from '../../../core/oauth/ledger.ts';
import type { Tokens } from '../../../core/oauth/secrets.ts';
import { deployment } from '../../support/builders.ts';
import { tempDir } from '../../support/project.ts';
import { refused } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { rules } from '../support/cloud/rules.ts';
import { configured, halfStack } from '../support/cloud/stack.ts';
import type { Part } from '../support/cloud/world.ts';

const NOW = new Date('2026-11-20T12:00:00.000Z');
const around = { now: NOW, refreshCommand: 'REFRESH' };
const minutes = (count: number) => new Date(NOW.getTime() + count * 60_000).toISOString();
const tokens = (changes: Partial<Tokens> = {}): Tokens => ({
  refreshToken: 'rt-canary',
  accessToken: 'at-canary',
  scope: 'openid global:export',
  obtainedAt: minutes(-10),
  expiresAt: minutes(50),
  earlierObtainedAt: [],
  ...changes,
});
const tokenSet = (versionId: string, changes: Partial<Tokens> = {}) => ({ versionId, tokens: tokens(changes) });

const checkedAs = (id: string, finding: Finding): Checked => ({ ...finding, id, question: 'Is it?', rights: [] });

const client = { clientId: 'a', clientSecret: 's' };

describe('the stored OAuth client', () => {
  it.each([
    ['of a grant without a client id, from an earlier release', client, undefined, 'holds'],
    ['of the grant', client, 'a', 'holds'],
    ['of another grant', client, 'b', 'broken'],
    ['without the secret that the configuration needs', { clientId: 'a', clientSecret: '' }, 'a', 'broken'],
  ])('gets the right verdict: %s', (_, stored, clientId, verdict) => {
    const of = tokens(clientId === undefined ? {} : { clientId });

    expect(clientFinding(stored, of, 'c', deployment().crm)).toMatchObject({
      verdict,
      exitCode: verdict === 'broken' ? 2 : 0,
    });
  });

  it('holds if only the grant has it, and is missing if the grant has none either', () => {
    const finding = (of: Partial<Tokens>) => clientFinding(undefined, tokens(of), 'c', deployment().crm);

    expect(finding({ clientId: 'a', clientSecret: 's' })).toMatchObject({ verdict: 'holds' });
    for (const of of [{}, { clientId: 'a' }]) expect(() => finding(of)).toThrow('The secret c has no value yet');
  });
});

describe('when a function last stored a refreshed grant', () => {
  it.each<[string, Partial<Tokens>, object]>([
    ['is reported', { functionStoredAt: minutes(-60) }, { verdict: 'holds', found: 'At 2026-11-20T11:00:00.000Z.' }],
    [
      'is unknown if an earlier release stored it',
      {},
      { verdict: 'holds', found: expect.stringContaining('an earlier release') },
    ],
    [
      'is a warning if no function has yet, with the run to start',
      { functionStoredAt: null },
      {
        verdict: 'warning',
        found: 'No function has yet, since a person gave the grant at 2026-11-20T11:50:00.000Z.',
        advice: expect.stringMatching(/: npx --no -- crm-export start leads --wait\.$/),
      },
    ],
  ])('%s', (_, changes, finding) => {
    expect(storedFinding(tokens(changes))).toMatchObject(finding);
  });

  it('is named as the reason if doctor cannot promise a good night', async () => {
    const untried = { ...checkedAs('grant-stored', warning('None has yet.', 'Start a run.')) };

    expect(linesOf([untried, checkedAs('service', holds('It answers.'))]).at(-1)).toBe(
      'No check found a reason for a nightly run to fail, but no function has refreshed the grant yet: see grant-stored.',
    );
  });
});

describe('checks', () => {
  it('take the exit code from the first check that is broken', () => {
    const checks = [
      checkedAs('a', holds('A.')),
      checkedAs('b', warning('B.', 'Do b.')),
      checkedAs('c', broken('C.', 'Do c.', 3)),
      checkedAs('d', broken('D.', '-', 2)),
    ];

    expect(exitCodeOf(checks)).toBe(3);
    expect(exitCodeOf(checks.slice(0, 2))).toBe(0);
  });

  it('print failures first, and passed checks as one line unless --all is given', () => {
    const checks = [
      checkedAs('a', holds('A.')),
      checkedAs('b', warning('B.', 'Do b.')),
      checkedAs('c', unknown('C.')),
      checkedAs('d', broken('D.', 'Do d.', 3)),
      checkedAs('e', holds('E.')),
    ];
    const worst = ['✕ d: Is it? D.\n    -> Do d.', '? c: Is it? C.', '! b: Is it? B.\n    -> Do b.'];
    const end = 'A nightly run would fail: see ✕ (1).';

    expect(linesOf(checks)).toEqual([...worst, '✓ 2 checks passed; to see them, add --all.', end]);
    expect(linesOf(checks, {}, true)).toEqual([...worst, '✓ a: Is it? A.', '✓ e: Is it? E.', end]);
  });

  it('promise a good night only if the CRM accepted the grant', () => {
    const lastLine = (...checks: Checked[]) => linesOf(checks).at(-1);
    const untried = checkedAs('service', unknown('Not looked at.', 'Look.'));
    const grant = checkedAs('grant', holds('There.'));
    const service = checkedAs('service', holds('It answers.'));

    expect(lastLine(grant, service)).toBe('A nightly run would work.');
    expect(lastLine(grant, untried)).toBe(
      'No check found a reason for a nightly run to fail, but the grant was not tried: add --refresh.',
    );
    expect(lastLine(checkedAs('refresh', holds('Done.')), untried)).toBe(
      'No check found a reason for a nightly run to fail, but the grant was not tried at the CRM.',
    );
    expect(lastLine(grant, checkedAs('ledger', unknown('No right.', null, 3)))).toBe(
      'doctor could not find out whether a nightly run would work: see ?.',
    );
  });

  it('promise no good night if a rule may not start it', () => {
    const service = checkedAs('service', holds('It answers.'));
    const lines = [broken('Gone.', 'Deploy.'), warning('All off.', 'Set.'), unknown('No right.')].map((finding) =>
      linesOf([checkedAs('rules', finding), service]).at(-1),
    );

    const unseen = 'No check found a reason for a nightly run to fail, but some nights may not start: see rules.';
    expect(lines).toEqual(['A nightly run would not start as it was deployed: see ✕ (1).', unseen, unseen]);
    const both = [checkedAs('rules', broken('Gone.', '-')), checkedAs('grant', broken('Dead.', '-'))];
    expect(linesOf(both).at(-1)).toBe('A nightly run would fail: see ✕ (2).');
  });

  it('print the same advice once', () => {
    const advice = 'Authorize again.';
    const checks = [checkedAs('a', broken('A.', advice)), checkedAs('b', broken('B.', advice))];

    expect(linesOf(checks).join('\n').split(advice)).toHaveLength(2);
  });

  /** The checks of a deployment, by id. */
  const found = async (...parts: Part[]) => {
    const { code, stdout } = await (await aws(...parts)).cli('doctor', '--json');
    const { checks } = JSON.parse(stdout) as { checks: Checked[] };
    return { code, verdictOf: (id: string) => checks.find((one) => one.id === id)?.verdict };
  };

  it('fail if a rule is missing', async () => {
    const { code, verdictOf } = await found(rules({ gone: ['leads'] }));

    expect({ code, rules: verdictOf('rules') }).toEqual({ code: 1, rules: 'broken' });
  });

  it('skip the addresses of alarms in a local cloud', async () => {
    expect((await found()).verdictOf('alarm-addresses')).toBeUndefined();
  });

  it('are unknown, not broken, if AWS denies access', async () => {
    const denied = refused('AccessDenied', 'no', { status: 403 });
    const { verdictOf } = await found(
      { '*': denied },
      configured({ alarms: { email: ['operator@example.com'], runbookUrl: 'https://example.com' } }),
    );

    expect(['rules', 'alarm-addresses', 'column-settings', 'grant'].map(verdictOf)).toEqual(Array(4).fill('unknown'));
  });
});

describe('the grant', () => {
  it('is reported with its token set and expiry', () => {
    const finding = (changes: Partial<Tokens> = {}) => grantFinding(tokenSet('v1', changes), NOW);

    expect(finding()).toMatchObject({
      verdict: 'holds',
      found: `Token set v1, obtained at ${minutes(-10)}; its access token ends at ${minutes(50)}.`,
    });
    expect(finding({ expiresAt: null }).found).toContain('its expiry is unknown');
    expect(finding({ earlierObtainedAt: Array(94).fill(minutes(-60)) })).toMatchObject({
      verdict: 'broken',
      found: expect.stringMatching(/^95 grants/),
    });
  });

  const item = (changes: Partial<LedgerItem>): LedgerItem => ({
    state: 'CLAIMED',
    owner: 'o',
    deadline: NOW.getTime() + 30_000,
    unanswered: 0,
    unansweredSince: 0,
    refusals: 0,
    reason: '',
    diedAt: '',
    ...changes,
  });
  const passed = { deadline: NOW.getTime() - 1000 };
  const states: [string, LedgerItem | undefined, string, RegExp][] = [
    ['unclaimed', undefined, 'holds', /is not claimed/],
    ['released', item({ deadline: 0 }), 'holds', /given back unspent/],
    ['claimed by a clock that is ahead', item({ deadline: NOW.getTime() + 50_000 }), 'warning', /is under way/],
    ['claimed', item({}), 'warning', /claimed since 2026-11-20T11:59:45.000Z/],
    [
      'paused because the CRM does not answer',
      item({ deadline: NOW.getTime() + 1_500_000, unanswered: 2, unansweredSince: NOW.getTime() - 60_000 }),
      'broken',
      /^No refresh .* since 2026-11-20T11:59:00.000Z \(2 tried\); the next is tried after 2026-11-20T12:25:00.000Z\.$/,
    ],
    [
      'refused with an unrecognised error code',
      item({ deadline: NOW.getTime() + 1_500_000, refusals: 3, reason: 'The token endpoint answered 400.' }),
      'broken',
      /^3 refreshes .* unrecognised error code; the next is tried after 2026-11-20T12:25:00.000Z\. The token endpoint answered 400\.$/,
    ],
    ['claimed by a process that died', item(passed), 'warning', /recorded no result\.$/],
    [
      'unanswered, and claimable again',
      item({ ...passed, unanswered: 9, unansweredSince: NOW.getTime() - 60_000 }),
      'warning',
      /^No refresh .* \(9 tried\)\.$/,
    ],
    [
      'dead, and claimed by a command of an earlier release',
      item({ ...passed, state: 'AUTHORIZED', reason: 'revoked', diedAt: minutes(-9) }),
      'broken',
      /^The grant is dead since 2026-11-20T11:51:00.000Z: revoked\.$/,
    ],
    [
      'replaced by a grant that the secret does not have',
      item({ state: 'STORED' }),
      'broken',
      /a successor, but the secret does not have it/,
    ],
    [
      'dead',
      item({ state: 'DEAD', reason: 'said \u001b[31mno', diedAt: minutes(-1) }),
      'broken',
      /since .*: said \[31mno\.$/,
    ],
  ];
  it.each(states)('is reported by doctor if it is %s', (_, seen, verdict, text) => {
    const check = ledgerFinding(seen, around);

    expect(check).toMatchObject({ verdict, found: expect.stringMatching(text) });
    if (verdict === 'broken') expect(check.advice).toContain('crm-export authorize');
  });

  it.each<[string, string[], object]>([
    ['profile openid global:export', ['openid', 'profile', 'global:export'], { verdict: 'holds' }],
    [
      'global:export',
      ['openid', 'profile', 'global:export'],
      { verdict: 'warning', found: 'Lacking: openid profile.' },
    ],
    ['global:export', ['global:export', 'customers:update'], { verdict: 'warning' }],
    [
      '',
      ['openid', 'global:export'],
      {
        verdict: 'broken',
        found: 'Lacking: openid global:export.',
        advice: expect.stringContaining('crm-export authorize'),
      },
    ],
  ])('with the scopes "%s", of which %j are needed, gets the right verdict', (scope, needed, finding) => {
    expect(scopesFinding(tokens({ scope }), needed)).toMatchObject(finding);
  });

  it.each<[string, Partial<Tokens>, string, RegExp]>([
    ['is valid', {}, 'holds', /^It is valid for 1 h and has 50 min left\.$/],
    ['has expired', { obtainedAt: minutes(-70), expiresAt: minutes(-10) }, 'warning', /is stale/],
    ['has no expiry', { expiresAt: null }, 'warning', /expires_in/],
  ])('with an access token that %s gets the right verdict', (_, changes, verdict, found) => {
    expect(accessTokenFinding(tokens(changes), around)).toMatchObject({ verdict, found: expect.stringMatching(found) });
  });
});

test.each<[string, ReturnType<typeof tokenSet>, string, RegExp]>([
  [
    'reports rotation and lifetime',
    tokenSet('v2', { refreshToken: 'rt-new' }),
    'holds',
    /^Rotation observed: .*; expires_in 3600 s; stored as token set v2\.$/,
  ],
  ['reports that the refresh token stays the same', tokenSet('v2'), 'holds', /^No rotation/],
  ['fails if the new grant could not be stored', tokenSet('v1'), 'broken', /could not be stored/],
])('a refresh %s', (_, after, verdict, found) => {
  expect(refreshFinding(tokenSet('v1'), after)).toMatchObject({ verdict, found: expect.stringMatching(found) });
});

describe('the column settings', () => {
  const found = (columns: object, names: string[]) => {
    const fields = names.map((name) => ({ name, label: null, type: null }));
    const settings = deployment({ entities: { leads: { columns } } });
    return columnsFindings(settings, 'leads', fields, undefined);
  };

  it('are compared with the columns of the CRM', () => {
    const listed = ['id', 'name'].map((name) => ({ name, label: null, type: null }));
    const [all] = columnsFindings(deployment(), 'leads', listed, undefined);
    expect(all?.found).toMatch(/^All 2 columns/);
    const chosen = { except: ['name'], required: ['phone'] };
    expect(found(['id'], ['id', 'name'])).toMatchObject([
      { verdict: 'holds', found: expect.stringMatching(/^1 of 2/) },
    ]);
    expect(found(chosen, ['id', 'name', 'phone'])).toMatchObject([{ found: expect.stringMatching(/^2 of 3/) }]);
  });

  it.each([
    ['that the CRM does not list', ['nmae'], 2, /"nmae" \(did you mean "name"\?\)/],
    ['that is required', { required: ['phone'] }, 1, /^SchemaChanged: leads must have "phone"/],
    [
      'that columns.except names and the CRM does not list',
      { except: ['nmae'] },
      2,
      /^ConfigInvalid: columns\.except of leads names "nmae" \(did you mean "name"\?\), which/,
    ],
  ])('fail for a column %s, with the error of the run', (_, columns, exitCode, text) => {
    expect(found(columns, ['id', 'name'])).toMatchObject([
      { verdict: 'broken', exitCode, found: expect.stringMatching(text) },
    ]);
  });

  it('warn of an entry that matches several columns', () => {
    expect(found({ except: ['cell'] }, ['id', 'phone', 'Cell', 'c-ell'])).toMatchObject([
      { verdict: 'holds' },
      { verdict: 'warning', found: expect.stringContaining('"Cell", "c-ell"') },
    ]);
  });
});

it('doctor stops at a stack that is only partly deployed', async () => {
  const { cli } = await aws(halfStack());
  const configuration = join(await tempDir(), 'half.json');
  const crm = { baseUrl: 'http://127.0.0.1:1/api/v1', authUrl: 'http://127.0.0.1:1' };
  await writeFile(configuration, JSON.stringify({ local: true, crm }));

  const { code, stdout } = await cli('doctor', '--configuration', configuration, '--json');

  expect(code).toBe(3);
  expect(JSON.parse(stdout).checks).toMatchObject([
    { id: 'configuration', verdict: 'holds' },
    { id: 'stack', verdict: 'broken', found: expect.stringContaining('is only partly deployed (ROLLBACK_COMPLETE)') },
  ]);
});
