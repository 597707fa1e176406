import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { successorOf } from '../../core/oauth/grant.ts';
import { LEASE_MS } from '../../core/oauth/ledger.ts';
import type { ClientAnswer } from '../oauth/fixtures/clients-child.ts';
import { startOAuthCloud } from '../oauth/support/oauth-cloud.ts';
import { randomFrom, TEST_SEED } from '../support/seeds.ts';

/** CI kills fewer processes, by the same rules. */
const KILLS = process.env.CI ? 20 : 200;
/** A lease of 45 seconds takes one and a half seconds. */
const SCALE = 30;
/** The overhead of processes and the local cloud, in virtual milliseconds. */
const OVERHEAD_MS = 500;
/** The approximate duration of a refresh here. */
const REFRESH_MS = 300;
const MINUTES = 60_000;

let cloud: Awaited<ReturnType<typeof startOAuthCloud>>;
beforeAll(async () => {
  cloud = await startOAuthCloud();
}, 3 * MINUTES);
afterAll(() => cloud?.close());

const served = (answers: ClientAnswer[], accessToken: string) =>
  answers.every((answer) => 'accessToken' in answer && answer.accessToken === accessToken);

/** Kills a process of clients at a random moment of a refresh, then makes another one continue. */
async function prepare(rotation: 'none' | 'strict') {
  cloud.sandbox.settings.rotation = rotation;
  const grant = await cloud.grant(3000);
  const survivor = await cloud.spawn();
  let next = cloud.spawn();
  const random = randomFrom(TEST_SEED);

  const kill = async () => {
    const { versionId, tokens } = await grant.current();
    const job = { ...grant.job, scale: SCALE, epoch: Date.now(), rejected: tokens.accessToken };
    const victim = await next;
    next = cloud.spawn();
    const before = cloud.refreshes();
    const begun = victim.begun();
    void victim.work({ ...job, clients: 3 });
    await begun;
    await sleep(random() * REFRESH_MS);
    victim.kill();
    const killedAt = Date.now();
    // Requests that the process had sent still arrive.
    await sleep(100);
    const committed = cloud.refreshes().calls > before.calls;
    const stored = (await grant.store.version(successorOf(versionId))) !== undefined;
    const answers = await survivor.work({ ...job, clients: 5 });
    const { calls, reuses } = cloud.refreshes();
    return {
      answers,
      dead: (await grant.ledger.read(versionId))?.state === 'DEAD',
      lost: committed && !stored,
      tookMs: Date.now() - killedAt,
      calls: calls - before.calls,
      reuses: reuses - before.reuses,
      accessToken: (await grant.current()).tokens.accessToken,
    };
  };
  return { grant, kill };
}

test(
  `${KILLS} kills at random moments lose no grant if the server does not rotate`,
  async () => {
    const { kill } = await prepare('none');
    let waited = 0;
    for (let count = 0; count < KILLS; count += 1) {
      const round = await kill();

      expect(served(round.answers, round.accessToken), JSON.stringify({ ...round, count })).toBe(true);
      expect(round.tookMs).toBeLessThan((LEASE_MS + 5000) / SCALE + OVERHEAD_MS);
      expect(round.calls).toBeLessThanOrEqual(2);
      if (round.tookMs > LEASE_MS / SCALE / 2) waited += 1;
    }
    // Some kills happened during the refresh, not all before or after it.
    expect(waited).toBeGreaterThan(KILLS / 20);
  },
  10 * MINUTES,
);

test(
  `${KILLS} kills at random moments lose a grant only if it was refreshed and not yet stored`,
  async () => {
    const { grant, kill } = await prepare('strict');
    let dead = 0;
    for (let count = 0; count < KILLS; count += 1) {
      const round = await kill();

      const what = JSON.stringify({ ...round, count });
      expect(round.reuses, what).toBe(round.lost ? 1 : 0);
      expect(round.dead, what).toBe(round.lost);
      if (round.lost) {
        dead += 1;
        for (const answer of round.answers) expect(answer).toMatchObject({ name: 'ReauthorizationRequired' });
        await grant.storeAgain();
      } else expect(served(round.answers, round.accessToken), what).toBe(true);
    }
    process.stdout.write(`${dead} of ${KILLS} kills lost the grant.\n`);
  },
  10 * MINUTES,
);
