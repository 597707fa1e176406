/** The package has no types of its own. */
declare module 'asl-validator' {
  export default function validate(
    definition: object,
    options?: { checkPaths?: boolean; checkArn?: boolean },
  ): { isValid: boolean; errors: unknown[]; errorsText: (separator?: string) => string };
}
