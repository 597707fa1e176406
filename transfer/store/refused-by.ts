/**
 * Who refused, by what S3 answered. It tells a refusal of the key by codes that begin with `KMS.`, or as `AccessDenied` whose
 * message names the action of KMS that was refused; the message itself names roles and keys, and is not passed on. Where
 * nothing tells, it may have been either.
 */
export function refusedBy(code: string, message: string): string {
  if (code.startsWith('KMS.') || /\bkms:[A-Z]/.test(message)) return 'The encryption key of the bucket';
  if (code === 'AccessDenied' && !/\bs3:[A-Z]/.test(message)) return 'The bucket, or its encryption key,';
  return 'The bucket';
}
