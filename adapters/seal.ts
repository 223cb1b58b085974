import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** Authenticated encryption of what must not be readable in the store. */
export interface Seal {
  close(plain: string): string;
  /** Undefined when the key is another one or the text was changed. */
  open(sealed: string): string | undefined;
}

/** AES-256-GCM; `encryptionKey` is base64 of 32 bytes, without it the key is derived from the platform's secret. */
export function createSeal(encryptionKey: string | undefined, secret: string): Seal {
  const derived = createHash('sha256').update(`gpu-size seal\0${secret}`).digest();
  const key = encryptionKey === undefined ? derived : Buffer.from(encryptionKey, 'base64');
  return {
    close(plain) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url');
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64url');
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(12, 28));
        return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
      } catch {
        return undefined;
      }
    },
  };
}
