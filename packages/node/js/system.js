// The name of this system, as addons have it: `linux-x64-gnu`, `darwin-arm64`, `win32-x64-msvc`.

export function system() {
  const { platform, arch } = process;
  if (platform === 'linux') return `linux-${arch}-${usesMusl() ? 'musl' : 'gnu'}`;
  return platform === 'win32' ? `win32-${arch}-msvc` : `${platform}-${arch}`;
}

function usesMusl() {
  // The report would also look up every network interface.
  const before = process.report.excludeNetwork;
  process.report.excludeNetwork = true;
  const { header } = process.report.getReport();
  process.report.excludeNetwork = before;
  return header.glibcVersionRuntime === undefined;
}
