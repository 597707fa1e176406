import type { Tokens } from '../../../core/oauth/secrets.ts';
import type { TokenAnswer } from '../../../core/oauth/token-endpoint.ts';
import type { VirtualClock } from './virtual-clock.ts';

export type Fault = 'lostBefore' | 'lostAfter' | Exclude<TokenAnswer, { kind: 'granted' }>;

interface Grant {
  revoked: boolean;
}

/** An authorization server in virtual time. It rotates tokens, and revokes the whole grant after reuse. */
export class FakeEndpoint {
  rotation: 'strict' | 'none' | { graceSeconds: number } = 'strict';
  /** `null`: the answer has no lifetime. */
  lifeSeconds: number | null = 3600;
  /** The duration of one call. The server commits at its end, even if the client has gone. */
  delayMs = 300;
  /** Whether an answer without rotation repeats the refresh token. */
  sendsRefreshToken = true;
  /** Called before each call, so that a test can cause an event at that moment. */
  before: () => unknown = () => undefined;
  faults: Fault[] = [];
  calls = 0;
  reuses = 0;
  readonly callTimes: number[] = [];
  readonly issued: string[] = [];
  readonly #refresh = new Map<string, { grant: Grant; usedAt: number | undefined }>();
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** Makes a new grant, as a person's consent does. */
  grant(overrides: Partial<Tokens> = {}): Tokens {
    const { accessToken, refreshToken = '' } = this.#issue({ revoked: false });
    return {
      refreshToken,
      accessToken,
      ...this.#times(this.#clock.time),
      scope: 'global:export',
      earlierObtainedAt: [],
      ...overrides,
    };
  }

  revoke(refreshToken: string): void {
    const known = this.#refresh.get(refreshToken);
    if (known) known.grant.revoked = true;
  }

  async call({ refreshToken }: Tokens, timeoutMs: number): Promise<TokenAnswer> {
    await this.before();
    const sentAt = this.#clock.time;
    this.calls += 1;
    this.callTimes.push(sentAt);
    const lost: TokenAnswer = { kind: 'lost', message: 'The token endpoint did not answer (ECONNRESET).' };
    const fault = this.faults.shift();
    if (fault === 'lostBefore') return lost;
    const processed = this.#clock.sleep(this.delayMs).then(() => fault ?? this.#answer(refreshToken, sentAt));
    const answer = await Promise.race([processed, this.#clock.sleep(timeoutMs).then(() => lost)]);
    if (answer === 'lostAfter') this.#answer(refreshToken, sentAt);
    return typeof answer === 'string' ? lost : answer;
  }

  #answer(refreshToken: string, sentAt: number): TokenAnswer {
    const known = this.#refresh.get(refreshToken);
    const dead: TokenAnswer = { kind: 'invalidGrant', message: 'The token endpoint answered 400: invalid_grant.' };
    if (!known || known.grant.revoked) return dead;
    const { usedAt } = known;
    const grace = typeof this.rotation === 'object' ? this.rotation.graceSeconds * 1000 : 0;
    if (usedAt !== undefined && this.rotation !== 'none' && this.#clock.time - usedAt > grace) {
      known.grant.revoked = true;
      this.reuses += 1;
      return dead;
    }
    known.usedAt ??= this.#clock.time;
    const issued = this.#issue(known.grant, this.rotation === 'none' ? refreshToken : undefined);
    const sent = this.sendsRefreshToken ? issued.refreshToken : undefined;
    const tokens = { accessToken: issued.accessToken, refreshToken: sent, scope: 'global:export' };
    return { kind: 'granted', tokens: { ...tokens, ...this.#times(sentAt) } };
  }

  #issue(grant: Grant, standing?: string): { accessToken: string; refreshToken: string } {
    const accessToken = `access-${this.issued.length}-of-the-simulation`;
    const refreshToken = standing ?? `refresh-${this.issued.length}-of-the-simulation`;
    this.issued.push(accessToken, refreshToken);
    if (!standing) this.#refresh.set(refreshToken, { grant, usedAt: undefined });
    return { accessToken, refreshToken };
  }

  #times(from: number): Pick<Tokens, 'obtainedAt' | 'expiresAt'> {
    const end = this.lifeSeconds === null ? null : new Date(from + this.lifeSeconds * 1000).toISOString();
    return { obtainedAt: new Date(from).toISOString(), expiresAt: end };
  }
}
