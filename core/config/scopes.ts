/** Scopes about the person or the refresh token. Many services grant them without listing them. */
export const PERSONAL_SCOPES = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'];

/** The CRM refuses updates of customers without this scope (`docs/interface/reference.md`). */
export const UPDATE_SCOPE = 'customers:update';

/** The CRM refuses exports without this scope; `crm.scopes` may name another one. */
export const EXPORT_SCOPE = 'global:export';
