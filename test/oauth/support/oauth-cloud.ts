import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { paginateScan } from '@aws-sdk/client-dynamodb';
import { inject } from 'vitest';
import { storeGrant } from '../../../cli/access/store-grant.ts';
import type { TokenSet } from '../../../core/oauth/grant.ts';
import { type Tokens, writeOAuthClient } from '../../../core/oauth/secrets.ts';
import { startSandbox } from '../../../sandbox/sandbox.ts';
import { type GrantPlaces, makePlaces } from '../../e2e/support/grant-places.ts';
import { deployment } from '../../support/builders.ts';
import { TEST_SEED } from '../../support/seeds.ts';
import type { ClientAnswer, Job } from '../fixtures/clients-child.ts';

const CHILD = join(import.meta.dirname, '../fixtures/clients-child.ts');

/** Real calls to secrets and table, a real authorization server, and processes with many clients. */
export async function startOAuthCloud() {
  const cloud = inject('cloud');
  const sandbox = await startSandbox({ rotation: 'strict' });
  const all: GrantPlaces[] = [];
  const pool: Child[] = [];
  /** All secrets, and all texts that must not contain them. */
  const issued = new Set<string>();
  const said: string[] = [];
  const crm = deployment({ crm: { baseUrl: sandbox.baseUrl, authUrl: sandbox.authUrl } }).crm;

  const spawn = async () => {
    const child = new Child(cloud.endpoint, said, TEST_SEED + pool.length);
    pool.push(child);
    await child.ready;
    return child;
  };
  const newTokens = (lifeLeftSeconds: number): Tokens => {
    const { accessToken, refreshToken } = sandbox.issueTokens();
    for (const token of [accessToken, refreshToken]) issued.add(token);
    const time = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
    const times = { expiresAt: time(lifeLeftSeconds), obtainedAt: time(lifeLeftSeconds - 3600), earlierObtainedAt: [] };
    return { accessToken, refreshToken, ...times, scope: 'global:export' };
  };
  return {
    sandbox,
    issued,
    spawn,
    newTokens,
    /** Makes a new grant with this much life left. */
    grant: async (lifeLeftSeconds: number) => {
      const at = await makePlaces(cloud.endpoint);
      all.push(at);
      const { store, ledger, LedgerTableName: ledgerTable } = at;
      const places = { clientSecretId: at.ClientSecretId, tokensSecretId: at.TokensSecretId, ledgerTable };
      await writeOAuthClient(at.secrets, at.ClientSecretId, sandbox);
      await store.store(randomUUID(), newTokens(lifeLeftSeconds));
      return {
        store,
        ledger,
        job: { places, crm, scale: 1 },
        current: async (): Promise<TokenSet> => {
          const tokenSet = await store.current();
          for (const token of [tokenSet.tokens.accessToken, tokenSet.tokens.refreshToken]) issued.add(token);
          return tokenSet;
        },
        storeAgain: () => storeGrant(newTokens(3000), { store, ledger }),
      };
    },
    /** Makes that many processes, with that many clients each, ask at once. */
    ask: async (processes: number, job: Job): Promise<ClientAnswer[]> => {
      while (pool.filter(({ alive }) => alive).length < processes) {
        await Promise.all(Array.from({ length: processes - pool.length }, spawn));
      }
      const children = pool.filter(({ alive }) => alive).slice(0, processes);
      const answers = (await Promise.all(children.map((child) => child.work(job)))).flat();
      note(answers, issued, said);
      return answers;
    },
    refreshes: () => {
      const calls = sandbox.ledger.calls({ kind: 'token' }).filter(({ grantType }) => grantType === 'refresh_token');
      return { calls: calls.length, reuses: calls.filter(({ reuse }) => reuse).length };
    },
    /** The places to which a token could leak. */
    places: async () => {
      const items: unknown[] = [];
      for (const { dynamo: client, LedgerTableName: TableName } of all) {
        for await (const page of paginateScan({ client }, { TableName })) items.push(page.Items);
      }
      return { tables: JSON.stringify(items), log: await readFile(cloud.logFile, 'utf8'), said: said.join('\n') };
    },
    close: async () => {
      for (const child of pool) child.kill();
      await sandbox.close();
    },
  };
}

function note(answers: ClientAnswer[], issued: Set<string>, said: string[]): void {
  for (const answer of answers) {
    if ('accessToken' in answer) issued.add(answer.accessToken);
    else said.push(`${answer.name}: ${answer.message}`);
  }
}

/** One process of clients. */
class Child {
  readonly ready: Promise<unknown>;
  alive = true;
  readonly #process: ChildProcess;

  constructor(endpoint: string, said: string[], seed: number) {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE, AWS_ENDPOINT_URL: endpoint };
    this.#process = fork(CHILD, [String(seed)], { env, execArgv: [], stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => said.push(text));
    }
    this.ready = once(this.#process, 'message');
  }

  /** The result of a job; never resolves if the process is killed before its end. */
  work(job: Job): Promise<ClientAnswer[]> {
    return new Promise((resolve) => {
      const listen = (message: ClientAnswer[] | string) => {
        if (typeof message === 'string') return;
        this.#process.off('message', listen);
        resolve(message);
      };
      this.#process.on('message', listen);
      this.#process.send(job);
    });
  }

  /** Resolves when the process has started a job. */
  begun(): Promise<unknown> {
    return once(this.#process, 'message');
  }

  kill(): void {
    this.alive = false;
    this.#process.kill('SIGKILL');
  }
}
