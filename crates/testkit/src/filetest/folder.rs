//! The test files under a folder.

use std::io;
use std::path::{Path, PathBuf};

use super::file::Language;

/// The test files under a folder, at any depth, sorted. Links to files count as
/// files; links to folders are not followed (as `find` does not), so that a link
/// to a folder above neither repeats tests nor ends in an endless path. `folder`
/// itself may be a link.
///
/// # Errors
/// When a folder cannot be read.
pub fn test_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if Language::of(&path).is_some() && !path.is_dir() {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_to_folders_are_not_followed() {
        let root = std::env::temp_dir().join(format!("warpfold-folder-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let inner = root.join("inner");
        fs::create_dir_all(&inner).expect("a folder");
        fs::write(inner.join("a.clif"), "").expect("a file");
        fs::write(root.join("b.txt"), "").expect("a file");
        symlink(&root, inner.join("loop")).expect("a link");
        // Not into the same circle: following both would take for ever.
        let empty = root.join("empty");
        fs::create_dir_all(&empty).expect("a folder");
        symlink(&empty, root.join("folder.clif")).expect("a link");
        symlink(root.join("b.txt"), root.join("c.wf")).expect("a link");
        symlink(root.join("nowhere"), root.join("d.wf")).expect("a link");
        let found = test_files(&root).expect("readable");
        let by_link = test_files(&inner.join("loop")).expect("readable");
        fs::remove_dir_all(&root).expect("it is there");
        let names: Vec<_> = found
            .iter()
            .map(|p| p.strip_prefix(&root).expect("under it").to_owned())
            .collect();
        // A link that leads nowhere is named where it is run.
        assert_eq!(names, ["c.wf", "d.wf", "inner/a.clif"].map(PathBuf::from));
        assert_eq!(by_link.len(), found.len());
    }
}
