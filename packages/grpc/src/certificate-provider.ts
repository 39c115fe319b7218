import type { Certificate, CertificateFiles } from '@gatehouse/kit/certificate-files';
import type { experimental } from '@grpc/grpc-js';

type CaListener = experimental.CaCertificateUpdateListener;
type IdentityListener = experimental.IdentityCertificateUpdateListener;

/**
 * A certificate in files as gRPC's servers and channels use it: the latest for each new connection. grpc-js expects a
 * listener's first call after `add…Listener` has returned.
 */
export class FilesProvider implements experimental.CertificateProvider {
  readonly #files: CertificateFiles;
  readonly #subscriptions = new Map<CaListener | IdentityListener, () => void>();

  constructor(files: CertificateFiles) {
    this.#files = files;
  }

  addCaCertificateListener(listener: CaListener): void {
    this.#add(listener, ({ ca }) => listener(ca === undefined ? null : { caCertificate: ca }));
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#add(listener, ({ cert, key }) => listener({ certificate: cert, privateKey: key }));
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#remove(listener);
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#remove(listener);
  }

  #add(listener: CaListener | IdentityListener, update: (certificate: Certificate) => void): void {
    // A listener removed before its first call gets no call.
    this.#subscriptions.set(listener, () => undefined);
    process.nextTick(() => {
      if (this.#subscriptions.has(listener)) this.#subscriptions.set(listener, this.#files.subscribe(update));
    });
  }

  #remove(listener: CaListener | IdentityListener): void {
    this.#subscriptions.get(listener)?.();
    this.#subscriptions.delete(listener);
  }
}
