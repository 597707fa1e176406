/** `leads-verify-20261122T020000Z-1a2b3c-0`, `verify-20261122T020000Z-1a2b3c-1`; of a batch, `update-verify-…-0-4d5e6f`. */
const NAME = /^(?<about>[a-z-]+-)?verify-\d{8}T\d{6}Z-[0-9a-f]{6}-\d+(?:-[0-9a-f]{6})?$/;

/**
 * Whether the command `verify` made a run, to try the deployment: it names its runs so; the one that its rule starts has a name of
 * EventBridge, and an input that says it.
 */
export function isOfVerify(execution: string, input: unknown): boolean {
  return NAME.test(execution) || (typeof input === 'object' && input !== null && 'verify' in input);
}

/** Whether a run failed because `verify` gave it an input that no run accepts: such a run is about no entity and no batch. */
export function failedOnPurpose(execution: string, input: unknown, error: string | null | undefined): boolean {
  return error === 'InvalidInput' && isOfVerify(execution, input) && !NAME.exec(execution)?.groups?.about;
}
