/** The CRM refuses updates of customers without this scope (`docs/interface/`, section 4.1). */
export const UPDATE_SCOPE = 'customers:update';
