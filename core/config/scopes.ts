/** The CRM refuses updates of customers without this scope (`docs/interface/`, section 4.1). */
export const UPDATE_SCOPE = 'customers:update';

/** Without this scope it refuses exports; `crm.scopes` may name another. */
export const EXPORT_SCOPE = 'global:export';
