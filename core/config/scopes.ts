/** Without it the CRM refuses updates of customers (`docs/interface/`, section 4.1). */
export const UPDATE_SCOPE = 'customers:update';
