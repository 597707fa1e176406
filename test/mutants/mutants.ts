/** A line that guards an invariant of the token module, taken away, and the test that must notice. */
export interface Mutant {
  invariant: string;
  /** What is no longer guarded. */
  loses: string;
  file: string;
  /** Stands in the file exactly once. */
  find: string;
  replace: string;
  test: { file: string; name: string };
}

const ACCESS = 'core/oauth/access-token.ts';
const SPEND = 'core/oauth/spend.ts';
const LEDGER = 'core/oauth/ledger.ts';
const PAUSE = 'core/oauth/refresh-pause.ts';
const STORE = 'core/oauth/grant-store.ts';
const ENDPOINT = 'core/oauth/token-endpoint.ts';
const COMMAND = 'cli/authorize/store-grant.ts';

const refresh = (name: string) => ({ file: 'test/oauth/refresh.test.ts', name });
const trouble = (name: string) => ({ file: 'test/oauth/trouble.test.ts', name });
const again = (name: string) => ({ file: 'test/oauth/authorize-again.test.ts', name });
const outage = (name: string) => ({ file: 'test/oauth/outage.test.ts', name });
const pause = (name: string) => ({ file: 'test/oauth/pause.test.ts', name });
const invariants = (name: string) => ({ file: 'test/oauth/invariants.test.ts', name });
const unit = (file: string, name: string) => ({ file: `test/core/oauth/${file}.test.ts`, name });

export const MUTANTS: Mutant[] = [
  {
    invariant: 'I1',
    loses: 'the condition of the claim',
    file: LEDGER,
    find: '(#state = :claimed AND deadline < :now AND',
    replace: '(#state = :claimed AND :now = :now AND',
    test: refresh('clients on an expired token make one token call'),
  },
  {
    invariant: 'I1',
    loses: 'the limit of two presentations: what was refused is presented again',
    file: SPEND,
    find: "if (first.kind !== 'lost' || ",
    replace: "if (first.kind === 'granted' || ",
    test: trouble('after .* the claim is given back'),
  },
  {
    invariant: 'I1',
    loses: 'that a generation over which a person authorized is never claimed again',
    file: LEDGER,
    find: ' AND attribute_not_exists(authorizedAt)',
    replace: '',
    test: again('a healthy generation over which a command died'),
  },
  {
    invariant: 'I1',
    loses: 'that a dead generation over which the command of the previous release died is never claimed again',
    file: LEDGER,
    find: ' AND attribute_not_exists(reason))',
    replace: ')',
    test: outage('a dead generation over which its command died'),
  },
  {
    invariant: 'I1',
    loses: 'that the previous release claims no generation over which a person authorized',
    file: LEDGER,
    find: 'attempt: 4,',
    replace: 'attempt: 1,',
    test: outage('never claims a generation over which a person authorized'),
  },
  {
    invariant: 'I2',
    loses: 'the one name of the successor',
    file: 'core/oauth/generation.ts',
    find: 'successor of ',
    replace: '$' + '{Math.random()} successor of ',
    test: unit('generation', 'I2'),
  },
  {
    invariant: 'I2',
    loses: 'that a generation is stored once',
    file: STORE,
    find: 'if (error instanceof ResourceExistsException) return false;',
    replace: 'if (error instanceof ResourceExistsException) return true;',
    test: unit('grant-store', 'I2'),
  },
  {
    invariant: 'I3',
    loses: 'the store before the use',
    file: SPEND,
    find: 'const stored = await storeUntil(',
    replace: "const stored = 'stored' as string; void storeUntil(",
    test: invariants('I3'),
  },
  {
    invariant: 'I4',
    loses: 'a lease that outlasts the work',
    file: LEDGER,
    find: 'LEASE_MS = 45_000',
    replace: 'LEASE_MS = 200',
    test: refresh('a token endpoint that takes 19 seconds'),
  },
  {
    invariant: 'I4',
    loses: 'the time that the invocation must have left',
    file: SPEND,
    find: 'if (deps.secondsLeft() < SECONDS_NEEDED) {',
    replace: 'if (deps.secondsLeft() < 0) {',
    test: trouble('with 20 seconds left'),
  },
  {
    invariant: 'I4',
    loses: 'the end of the claim before the first request',
    file: SPEND,
    find: 'if (requestTime(claim, deps) < FIRST_TIMEOUT_MS) {',
    replace: 'if (requestTime(claim, deps) < -1e9) {',
    test: trouble('I4: a client that answers too late'),
  },
  {
    invariant: 'I4',
    loses: 'the end of the claim before the second request',
    file: SPEND,
    find: ' || requestTime(claim, deps) < SECOND_TIMEOUT_MS) return first;',
    replace: ') return first;',
    test: trouble('I4: an answer that is lost late'),
  },
  {
    invariant: 'I4',
    loses: 'the end of storing',
    file: SPEND,
    find: "if (deps.now().getTime() + wait > end) return 'impossible';",
    replace: "if (deps.now().getTime() > end + 60_000) return 'impossible';",
    test: trouble('when the store fails for good \\(InternalServiceError\\)'),
  },
  {
    invariant: 'I4',
    loses: 'the end of a try to store that began in time',
    file: SPEND,
    find: 'AbortSignal.timeout(Math.max(1, end - deps.now().getTime()))',
    replace: 'AbortSignal.timeout(60_000)',
    test: unit('access-token', 'I4: a try to store'),
  },
  {
    invariant: 'I5',
    loses: 'that trouble with the ledger stops everybody',
    file: ACCESS,
    find: "if (freshness === 'ageing' && error instanceof RunError) return undefined;\n    throw error;",
    replace: 'return { won: true, claim: { versionId, owner, attempt: 1, deadline: now().getTime() + 45_000 } };',
    test: trouble('a ledger'),
  },
  {
    invariant: 'I6',
    loses: 'that a claim is ended by its own holder only',
    file: LEDGER,
    find: "const OURS = '#state = :claimed AND #owner = :owner';",
    replace: "const OURS = '#state = :claimed AND :owner = :owner';",
    test: invariants('I6'),
  },
  {
    invariant: 'I7',
    loses: 'the look for a successor before a death',
    file: SPEND,
    find: 'if (successor) return marked(successor, claim, deps);\n  const current',
    replace: 'const current',
    test: trouble('invalid_grant for a generation'),
  },
  {
    invariant: 'I7',
    loses: 'the look for another grant before a death',
    file: SPEND,
    find: 'if (!(await leadsTo(current.versionId, generation.versionId, deps.store))) return current;',
    replace: '',
    test: trouble('invalid_grant after a person'),
  },
  {
    invariant: 'I7',
    loses: 'the record of the death',
    file: SPEND,
    find: 'await deps.ledger.markDead(claim, message, diedAt);',
    replace: '',
    test: again('(a grant that a person revoked|a token that still lives is used though)'),
  },
  {
    invariant: 'I7',
    loses: 'that a CRM that does not answer is left alone longer each time',
    file: SPEND,
    find: 'await deps.ledger.markUnanswered(claim, now).catch(() => undefined);',
    replace: '',
    test: outage('a CRM that does not answer is left alone'),
  },
  {
    invariant: 'I7',
    loses: 'that a CRM that does not rotate loses nothing by a store that fails',
    file: SPEND,
    find: 'if (!rotated) {',
    replace: 'if (Number(deps.now()) < 0) {',
    test: trouble('a CRM that does not rotate'),
  },
  {
    invariant: 'I8',
    loses: 'the walk from a late label to the newest generation',
    file: ACCESS,
    find: 'if (!successor) return generation;',
    replace: 'return generation;',
    test: refresh('(reads of the label|several generations behind a late label)'),
  },
  {
    invariant: 'I8',
    loses: 'the successor check under the claim',
    file: SPEND,
    find: 'if (successor) return { successor };',
    replace: '',
    test: refresh('a successor that appears'),
  },
  {
    invariant: 'I8',
    loses: 'that a late label proves nothing',
    file: SPEND,
    find: 'if (!(await leadsTo(current.versionId, generation.versionId, deps.store))) return current;',
    replace: 'if (current.versionId !== generation.versionId) return current;',
    test: trouble('a label that is only late'),
  },
  {
    invariant: 'I9',
    loses: 'that the claim of a lost answer is kept',
    file: SPEND,
    find: 'await unanswered(claim, deps);',
    replace: 'await givenBack(claim, deps);',
    test: trouble('is repeated once, then waited for'),
  },
  {
    invariant: 'I10',
    loses: 'that the command waits for a holder',
    file: COMMAND,
    find: 'if (isFree(item, elapsed() - since)) {',
    replace: 'if (isFree(item, elapsed() - since) || item) {',
    test: again('the command never compares clocks'),
  },
  {
    invariant: 'I10',
    loses: 'the clock by which the command dates its claim',
    file: COMMAND,
    find: 'const now = deps.now();',
    replace: 'const now = Date.now();',
    test: again('a claim of the command is dated'),
  },
  {
    invariant: 'I10',
    loses: 'that the command stores the one successor',
    file: COMMAND,
    find: 'const versionId = successorOf(before);',
    replace: 'const versionId = randomUUID();',
    test: again('a new grant is stored over a dead one'),
  },
  {
    invariant: 'I11',
    loses: 'the refresh token that was not answered',
    file: SPEND,
    find: 'answered.refreshToken ?? generation.tokens.refreshToken',
    replace: "answered.refreshToken ?? ''",
    test: refresh('the refresh token that is kept'),
  },
  {
    invariant: 'I11',
    loses: 'that an unknown life is not zero',
    file: ENDPOINT,
    find: '.toISOString() : null,',
    replace: '.toISOString() : obtainedAt.toISOString(),',
    test: unit('token-endpoint', 'an expires_in that is'),
  },
  {
    invariant: 'I12',
    loses: 'that nothing of the answer is repeated but a code of the list',
    file: ENDPOINT,
    find: 'return WORDS.includes(error) ?',
    replace: 'return error ?',
    test: unit('token-endpoint', 'what the CRM repeats'),
  },
  {
    invariant: 'I13',
    loses: 'the generation, the time and the command in the name of a death',
    file: SPEND,
    find: '(generation $' + '{versionId}) is dead$' + '{since}: $' + '{reason} Run: $' + '{names.authorizeCommand}.',
    replace: 'is dead.',
    test: again('a grant that a person revoked'),
  },
  {
    invariant: 'I14',
    loses: 'the count of refreshes',
    file: SPEND,
    find: "deps.count('TokenRefreshes');",
    replace: '',
    test: trouble('(every version is counted|a new grant of a person counts|what the previous release stored)'),
  },
  {
    invariant: 'I14',
    loses: 'the limit of versions within a day',
    file: 'core/oauth/version-limit.ts',
    find: 'MOST_VERSIONS_A_DAY = 95',
    replace: 'MOST_VERSIONS_A_DAY = 950',
    test: trouble('every version is counted'),
  },
  {
    invariant: 'I14',
    loses: 'what a container remembers of a refresh that brought nothing',
    file: PAUSE,
    find: 'return now.getTime() < this.#lookAt;',
    replace: 'return false;',
    test: pause('500 calls of a warm function while a refresh is busy'),
  },
  {
    invariant: 'I14',
    loses: 'what the CRM requested in Retry-After',
    file: PAUSE,
    find: 'return now.getTime() < this.#refreshAt;',
    replace: 'return false;',
    test: pause('a CRM that asks for ten minutes'),
  },
  {
    invariant: 'I14',
    loses: 'that whoever was refused waits for a request that does not know of it',
    file: ACCESS,
    find: 'while (running && rejected !== undefined && running.rejected !== rejected) {',
    replace: 'while (Number(deps.now()) < 0) {',
    test: refresh('whoever joins'),
  },
  {
    invariant: 'I14',
    loses: 'the single flight of a process',
    file: ACCESS,
    find: 'running ??= {',
    replace: 'running = {',
    test: refresh('five requests'),
  },
];
