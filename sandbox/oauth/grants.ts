import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { Clock, Settings } from '../sandbox-settings.ts';

export const SCOPES = ['openid', 'profile', 'global:export', 'customers:update'] as const;

const CODE_SECONDS = 60;

/** One consent. All tokens from it are revoked together. */
interface Grant {
  scopes: string[];
  revoked: boolean;
}

interface AccessToken {
  grant: Grant;
  expiresAt: number;
}

interface RefreshToken {
  grant: Grant;
  isUsed: boolean;
}

/** The consent of a person, before its exchange for tokens. */
export interface Consent {
  redirectUri: string;
  challenge: string;
  scopes: string[];
}

interface Code extends Consent {
  expiresAt: number;
  /** The grant from the first exchange. */
  grant: Grant | null;
}

export interface IssuedTokens {
  accessToken: string;
  refreshToken: string;
  expiresInSeconds: number;
  scopes: string[];
}

/** Why the token endpoint refused a code or token; `reuse`: it had been used before. */
export interface Refusal {
  refused: string;
  reuse: boolean;
}

/** The first 8 hex digits of the SHA-256 of a token: distinguishes tokens without showing them. */
export function fingerprint(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, 8);
}

function secret(prefix: string): string {
  return `${prefix}_${randomBytes(32).toString('base64url')}`;
}

/** Codes, access tokens and refresh tokens of this sandbox. */
export class Grants {
  /** Every code, verifier and token so far, so that tests can look for them where they must not be. */
  readonly secrets = new Set<string>();
  readonly #codes = new Map<string, Code>();
  readonly #access = new Map<string, AccessToken>();
  readonly #refresh = new Map<string, RefreshToken>();
  readonly #settings: Settings;
  readonly #clock: Clock;

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** A single-use code, valid for 60 seconds. */
  createCode(consent: Consent): string {
    const code = randomUUID();
    this.secrets.add(code);
    this.#codes.set(code, { ...consent, expiresAt: this.#clock.now() + CODE_SECONDS * 1000, grant: null });
    return code;
  }

  /** Exchanges a code. A second exchange is refused and revokes the tokens of the first. */
  exchangeCode(code: string, redirectUri: string, verifier: string): IssuedTokens | Refusal {
    this.secrets.add(verifier);
    const consent = this.#codes.get(code);
    if (!consent) return { refused: 'The code is unknown.', reuse: false };
    if (consent.grant) {
      consent.grant.revoked = true;
      return { refused: 'The code was used before; its tokens are revoked.', reuse: true };
    }
    if (consent.expiresAt <= this.#clock.now()) return { refused: 'The code has expired.', reuse: false };
    if (consent.redirectUri !== redirectUri)
      return { refused: 'The redirect_uri differs from the one in the authorization.', reuse: false };
    if (createHash('sha256').update(verifier).digest('base64url') !== consent.challenge) {
      return { refused: 'The code_verifier does not match.', reuse: false };
    }
    consent.grant = { scopes: consent.scopes, revoked: false };
    return this.#issue(consent.grant);
  }

  /** Exchanges a refresh token. A second exchange is refused and revokes the whole grant. */
  refresh(token: string): IssuedTokens | Refusal {
    const refresh = this.#refresh.get(token);
    if (!refresh) return { refused: 'The refresh token is unknown.', reuse: false };
    if (refresh.isUsed) {
      refresh.grant.revoked = true;
      return { refused: 'The refresh token was used before; its grant is revoked.', reuse: true };
    }
    if (refresh.grant.revoked) return { refused: 'The refresh token is revoked.', reuse: false };
    refresh.isUsed = true;
    return this.#issue(refresh.grant);
  }

  /** Issues the tokens of a new grant without a browser. */
  issue(scopes: string[], expiresInSeconds = this.#settings.accessTokenSeconds): IssuedTokens {
    return this.#issue({ scopes, revoked: false }, expiresInSeconds);
  }

  /** The scopes of a valid access token, or null. */
  check(accessToken: string): string[] | null {
    const access = this.#access.get(accessToken);
    if (!access || access.grant.revoked || access.expiresAt <= this.#clock.now()) return null;
    return access.grant.scopes;
  }

  expireAccessTokens(): void {
    for (const token of this.#access.values()) token.expiresAt = 0;
  }

  #issue(grant: Grant, expiresInSeconds = this.#settings.accessTokenSeconds): IssuedTokens {
    const [accessToken, refreshToken] = [secret('at'), secret('rt')];
    this.secrets.add(accessToken).add(refreshToken);
    this.#access.set(accessToken, { grant, expiresAt: this.#clock.now() + expiresInSeconds * 1000 });
    this.#refresh.set(refreshToken, { grant, isUsed: false });
    return { accessToken, refreshToken, expiresInSeconds, scopes: grant.scopes };
  }
}
