/** `leads-verify-20261122T020000Z-1a2b3c-0`, `verify-20261122T020000Z-1a2b3c-1`. */
const NAME = /^(?:[a-z-]+-)?verify-\d{8}T\d{6}Z-[0-9a-f]{6}-\d+$/;

/**
 * Whether the command `verify` made a run, to try the deployment: it names its runs so; the one that its rule starts has a name of
 * EventBridge, and an input that says it.
 */
export function isOfVerify(execution: string, input: unknown): boolean {
  return NAME.test(execution) || (typeof input === 'object' && input !== null && 'verify' in input);
}

/** Whether a run failed because `verify` gave it an input that no run accepts. */
export function failedOnPurpose(execution: string, input: unknown, error: string | null | undefined): boolean {
  return error === 'InvalidInput' && isOfVerify(execution, input);
}
