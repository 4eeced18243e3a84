//! Launch headers.
