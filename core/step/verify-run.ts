/** The export of `verify`: `leads-verify-20261122T020000Z-1a2b3c-0`. */
const NAME = /^[a-z-]+-verify-\d{8}T\d{6}Z-[0-9a-f]{6}-0$/;

/** Whether the command `verify` made a run: it starts one by name, and its temporary rule starts others with an input of their own. */
export function isOfVerify(execution: string, input: unknown): boolean {
  return NAME.test(execution) || isOfItsRule(input);
}

/** Whether a run failed because the temporary rule of `verify` gave it an input that no run accepts. */
export function failedOnPurpose(input: unknown, error: string | null | undefined): boolean {
  return error === 'InvalidInput' && isOfItsRule(input);
}

function isOfItsRule(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'verify' in input;
}
