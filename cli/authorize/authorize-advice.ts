import type { Deployment } from '../../core/config/deployment.ts';

interface Requested {
  crm: Pick<Deployment['crm'], 'scopes'>;
  configuration: string;
}

/** Which scopes were asked for, and where a person changes that. */
export function scopeAdvice({ crm, configuration }: Requested): string {
  const updates = crm.scopes.includes('customers:update') ? ' ("customerUpdates": true adds customers:update)' : '';
  return `These scopes were asked for: ${crm.scopes.join(' ')}. Change crm.scopes in ${configuration}${updates}.`;
}

const OTHERS = {
  basic: '"basic_raw" or "post"',
  basic_raw: '"basic" or "post"',
  post: '"basic" or "basic_raw"',
  none: '"basic" or "post", if the client has a secret',
} satisfies Record<Deployment['crm']['clientAuthentication'], string>;

/** What to try when the service does not know the client. Never tried by itself: a service may lock the client. */
export function clientAdvice(how: Deployment['crm']['clientAuthentication'], configuration: string): string {
  return `Check the id and the secret of the client; if both are right, set crm.clientAuthentication to ${OTHERS[how]} in ${configuration} (it is "${how}").`;
}
