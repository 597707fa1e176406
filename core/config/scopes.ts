/** Scopes about the person or the refresh token: many services give them without naming them, and no function needs one. */
export const PERSONAL_SCOPES = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'];

/** The CRM refuses updates of customers without this scope (`docs/interface/reference.md`). */
export const UPDATE_SCOPE = 'customers:update';

/** Without this scope it refuses exports; `crm.scopes` may name another. */
export const EXPORT_SCOPE = 'global:export';
